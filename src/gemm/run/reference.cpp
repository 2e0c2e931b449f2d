// Three nested loops per problem and nothing else. Speed is not wanted here: what can be read at a glance can
// be trusted as the definition. As a candidate it is the last one, and serves any problem on the host.
#include "gemm/run/reference.hpp"

#include <complex>
#include <unordered_set>

#include "core/complex_product.hpp"
#include "core/dispatch.hpp"
#include "gemm/operand.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/ways.hpp"

namespace tilewright {
namespace {

template <class T>
T element(const Matrix<const T>& x, Op op, std::int64_t i, std::int64_t j) {
  if (op == Op::none) return x(i, j);
  const T value = x(j, i);
  if constexpr (is_complex(dtype_of<T>))
    if (op == Op::conj_trans) return std::conj(value);
  return value;
}

// c(i, j) = alpha * sum_p op(A)(i, p) * op(B)(p, j) + beta * c(i, j)
template <class T>
void multiply(const GemmProblem& q, T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c) {
  const bool reads_ab = alpha != T(0) && q.k > 0;
  for (std::int64_t j = 0; j < q.n; ++j)
    for (std::int64_t i = 0; i < q.m; ++i) {
      T value = beta == T(0) ? T(0) : beta == T(1) ? c(i, j) : product(beta, c(i, j));
      if (reads_ab) {
        T sum(0);
        for (std::int64_t p = 0; p < q.k; ++p)
          sum += product(element(a, q.op_a, i, p), element(b, q.op_b, p, j));
        value += alpha == T(1) ? sum : product(alpha, sum);
      }
      c(i, j) = value;
    }
}

template <class T>
void multiply_range(const GemmProblem& q, const Operands& o, std::int64_t first, std::int64_t count) {
  const OperandLayout la = layout_a(q), lb = layout_b(q), lc = layout_c(q);
  for (std::int64_t p = first; p < first + count; ++p) {
    const T alpha = scalar_of<T>(q.alpha, o.alpha, o.alpha_stride, p);
    const T beta = scalar_of<T>(q.beta, o.beta, o.beta_stride, p);
    const bool reads_ab = alpha != T(0) && q.k > 0;
    multiply<T>(q, alpha, reads_ab ? matrix_of<const T>(q, la, o.a, p) : Matrix<const T>{},
                reads_ab ? matrix_of<const T>(q, lb, o.b, p) : Matrix<const T>{}, beta,
                matrix_of<T>(q, lc, o.c, p));
  }
}

// The first product of each C brings beta to it.
template <class T>
void sum_up(const GemmProblem& q, const Operands& o) {
  const OperandLayout la = layout_a(q), lb = layout_b(q), lc = layout_c(q);
  const T alpha = scalar_of<T>(q.alpha, o.alpha, 0, 0), beta = scalar_of<T>(q.beta, o.beta, 0, 0);
  const bool reads_ab = alpha != T(0) && q.k > 0;
  if (q.sums == Sums::batch_reduce && q.batch_count == 0)
    return multiply<T>(q, T(0), {}, {}, beta, matrix_of<T>(q, lc, o.c, 0));
  std::unordered_set<const T*> seen;
  for (std::int64_t p = 0; p < q.batch_count; ++p) {
    const Matrix<T> c = matrix_of<T>(q, lc, o.c, q.sums == Sums::batch_reduce ? 0 : p);
    multiply<T>(q, alpha, reads_ab ? matrix_of<const T>(q, la, o.a, p) : Matrix<const T>{},
                reads_ab ? matrix_of<const T>(q, lb, o.b, p) : Matrix<const T>{},
                seen.insert(c.data).second ? beta : T(1), c);
  }
}

class ReferenceRunner : public HostRunner {
 public:
  using HostRunner::HostRunner;
  void run(const Operands& o) const override {
    if (problem().sums == Sums::none) return HostRunner::run(o);
    gemm_reference(problem(), o);
  }
  bool cuts_batches() const override { return problem().sums == Sums::none; }
  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    gemm_reference(problem(), o, first, count);
  }
};

}  // namespace

constinit const GemmCandidate reference_way{
    "reference", Tier::any, why_not_on_host, one_runner<ReferenceRunner>, {.forms_sums = true}};

void gemm_reference(const GemmProblem& problem, const Operands& operands, std::int64_t first,
                    std::int64_t count) {
  if (problem.m == 0 || problem.n == 0) return;
  dispatch(problem.dtype, [&]<class T>() { multiply_range<T>(problem, operands, first, count); });
}

void gemm_reference(const GemmProblem& problem, const Operands& operands) {
  if (problem.sums == Sums::none) return gemm_reference(problem, operands, 0, problem.batch_count);
  if (problem.m == 0 || problem.n == 0) return;
  dispatch(problem.dtype, [&]<class T>() { sum_up<T>(problem, operands); });
}

}  // namespace tilewright
