// The candidates reference, three loops per problem, and scale, whose GPU part is in small_kernels.cpp. Inner
// loops of scaling are contiguous in every layout: whole columns, or equal elements of a block's problems.
#include "gemm/run/reference.hpp"

#include <algorithm>
#include <complex>
#include <unordered_set>

#include "core/dispatch.hpp"
#include "gemm/candidate.hpp"
#include "gemm/operand.hpp"
#include "gemm/run/host.hpp"

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

// The first product of each C applies beta to it.
template <class T>
void multiply_range(const GemmProblem& q, const Operands& o, std::int64_t first, std::int64_t count) {
  const auto [la, lb, lc] = layouts_of(q);
  const bool one_c = q.sums == Sums::batch_reduce, has_sums = q.sums != Sums::none;
  if (one_c && count == 0)
    return multiply<T>(q, T(0), {}, {}, scalar_of<T>(q.beta, o.beta, 0, 0), matrix_of<T>(q, lc, o.c, 0));
  std::unordered_set<const T*> seen;
  for (std::int64_t p = first; p < first + count; ++p) {
    const T alpha = scalar_of<T>(q.alpha, o.alpha, has_sums ? 0 : o.alpha_stride, p);
    const T beta = scalar_of<T>(q.beta, o.beta, has_sums ? 0 : o.beta_stride, p);
    const Matrix<T> c = matrix_of<T>(q, lc, o.c, one_c ? 0 : p);
    const bool goes_on = has_sums && !seen.insert(c.data).second;
    const bool reads_ab = alpha != T(0) && q.k > 0;
    multiply<T>(q, alpha, reads_ab ? matrix_of<const T>(q, la, o.a, p) : Matrix<const T>{},
                reads_ab ? matrix_of<const T>(q, lb, o.b, p) : Matrix<const T>{}, goes_on ? T(1) : beta, c);
  }
}

class ReferenceRunner : public HostRunner {
 public:
  using HostRunner::HostRunner;
  void run(const Operands& o) const override {
    if (cuts_batches()) return HostRunner::run(o);
    gemm_reference(problem(), o);
  }
  bool cuts_batches() const override { return problem().sums == Sums::none; }
  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    gemm_reference(problem(), o, first, count);
  }
};

template <class T>
void scale_run(T* data, std::int64_t count, T beta) {
  if (beta == T(0))
    std::fill_n(data, count, T(0));
  else if (beta != T(1))  // multiplying by 1 could change infinities and the sign of zero
    for (std::int64_t i = 0; i < count; ++i) data[i] = product(beta, data[i]);
}

// `lanes` neighbouring problems of one block; betas differ when beta_stride is 1.
// Scales `lanes` neighbouring problems of one block, element by element.
template <class T>
void scale_lanes(const GemmProblem& q, const Operands& o, std::int64_t first, std::int64_t lanes) {
  const Matrix<T> c = matrix_of<T>(q, layout_c(q), o.c, first);
  const std::int64_t alike = o.beta_stride == 0 ? lanes : 1;  // problems of one beta
  for (std::int64_t j = 0; j < q.n; ++j)
    for (std::int64_t i = 0; i < q.m; ++i)
      for (std::int64_t p = 0; p < lanes; p += alike)
        scale_run(&c(i, j) + p, alike, scalar_of<T>(q.beta, o.beta, o.beta_stride, first + p));
}

template <class T>
void scale_range(const GemmProblem& q, const Operands& o, std::int64_t first, std::int64_t count) {
  const OperandLayout lc = layout_c(q);
  for (std::int64_t p = first, last = first + count; p < last;) {
    if (is_interleaved(q)) {
      const std::int64_t lanes = std::min(last, (p / q.block + 1) * q.block) - p;
      scale_lanes<T>(q, o, p, lanes);
      p += lanes;
      continue;
    }
    const Matrix<T> c = matrix_of<T>(q, lc, o.c, p);
    const T beta = scalar_of<T>(q.beta, o.beta, o.beta_stride, p++);
    for (std::int64_t j = 0; j < q.n; ++j) scale_run(&c(0, j), q.m, beta);
  }
}

class HostScaleRunner : public HostRunner {
 public:
  using HostRunner::HostRunner;
  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    scale_c(problem(), o, first, count);
  }
};

std::string scale_declines(const PlanRequest& r) {
  const GemmProblem& p = r.problem;
  if (p.m != 0 && p.n != 0 && p.k != 0 && p.batch_count != 0 && p.alpha != Scalar::zero)
    return "there are products to compute (k > 0 and alpha is not zero)";
  if (p.sums != Sums::none && has_elements_of_c(p)) return "a sum scales its C once, not for each product";
  return p.location == Location::device ? device_scale_declines(r) : "";
}

GemmOffers scale_offers(const PlanRequest& r) {
  if (r.problem.location == Location::device) return device_scale_offers(r);
  return one_runner<HostScaleRunner>(r);
}

}  // namespace

constinit const GemmCandidate scale_candidate{
    "scale", Tier::no_product, scale_declines, scale_offers, {.forms_sums = true}};

constinit const GemmCandidate reference_candidate{
    "reference", Tier::any, why_not_on_host, one_runner<ReferenceRunner>, {.forms_sums = true}};

void gemm_reference(const GemmProblem& problem, const Operands& operands, std::int64_t first,
                    std::int64_t count) {
  if (problem.m == 0 || problem.n == 0) return;
  dispatch(problem.dtype, [&]<class T>() { multiply_range<T>(problem, operands, first, count); });
}

void scale_c(const GemmProblem& problem, const Operands& operands, std::int64_t first, std::int64_t count) {
  if (problem.m == 0 || problem.n == 0 || problem.beta == Scalar::one) return;
  dispatch(problem.dtype, [&]<class T>() { scale_range<T>(problem, operands, first, count); });
}

}  // namespace tilewright
