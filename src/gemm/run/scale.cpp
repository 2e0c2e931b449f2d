// Scaling on the host, and the candidate scale, whose other half is scale_device.cpp's. It walks whole
// columns, or for interleaved batches the equal elements of a block's problems, so that the inner loop is
// contiguous in every layout.
#include "gemm/run/scale.hpp"

#include <algorithm>

#include "core/complex_product.hpp"
#include "core/dispatch.hpp"
#include "gemm/operand.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/ways.hpp"

namespace tilewright {
namespace {

template <class T>
void scale_run(T* data, std::int64_t count, T beta) {
  if (beta == T(0))
    std::fill_n(data, count, T(0));
  else if (beta != T(1))  // which leaves infinities and the sign of zero alone
    for (std::int64_t i = 0; i < count; ++i) data[i] = product(beta, data[i]);
}

template <class T>
void scale_matrix(const GemmProblem& q, const Matrix<T>& c, T beta) {
  if (beta == T(1)) return;
  for (std::int64_t j = 0; j < q.n; ++j) scale_run(&c(0, j), q.m, beta);
}

// `lanes` neighbouring problems of one block; betas differ when beta_stride is 1.
template <class T>
void scale_lanes(const GemmProblem& q, const Operands& o, std::int64_t first, std::int64_t lanes) {
  const Matrix<T> c = matrix_of<T>(q, layout_c(q), o.c, first);
  for (std::int64_t j = 0; j < q.n; ++j)
    for (std::int64_t i = 0; i < q.m; ++i) {
      T* data = &c(i, j);
      if (o.beta_stride == 0) {
        scale_run(data, lanes, scalar_of<T>(q.beta, o.beta, 0, 0));
      } else {
        for (std::int64_t p = 0; p < lanes; ++p)
          scale_run(data + p, 1, scalar_of<T>(q.beta, o.beta, o.beta_stride, first + p));
      }
    }
}

template <class T>
void scale_range(const GemmProblem& q, const Operands& o, std::int64_t first, std::int64_t count) {
  const OperandLayout lc = layout_c(q);
  const std::int64_t last = first + count;
  if (!is_interleaved(q)) {
    for (std::int64_t p = first; p < last; ++p)
      scale_matrix<T>(q, matrix_of<T>(q, lc, o.c, p), scalar_of<T>(q.beta, o.beta, o.beta_stride, p));
    return;
  }
  for (std::int64_t p = first; p < last;) {
    const std::int64_t lanes = std::min(last, (p / q.block + 1) * q.block) - p;
    scale_lanes<T>(q, o, p, lanes);
    p += lanes;
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
    return "there are products to form (k > 0 and alpha is not zero)";
  if (p.sums != Sums::none && has_elements_of_c(p))
    return "sums scale a C once, however many products it has";
  return p.location == Location::device ? device_scale_declines(r) : "";
}

GemmOffers scale_offers(const PlanRequest& r) {
  if (r.problem.location == Location::device) return device_scale_offers(r);
  return one_runner<HostScaleRunner>(r);
}

}  // namespace

constinit const GemmCandidate scale_way{
    "scale", Tier::no_product, scale_declines, scale_offers, {.forms_sums = true}};

bool has_elements_of_c(const GemmProblem& problem) {
  return problem.m != 0 && problem.n != 0 && count_of_c(problem) != 0;
}

void scale_c(const GemmProblem& problem, const Operands& operands, std::int64_t first, std::int64_t count) {
  if (problem.m == 0 || problem.n == 0 || problem.beta == Scalar::one) return;
  dispatch(problem.dtype, [&]<class T>() { scale_range<T>(problem, operands, first, count); });
}

}  // namespace tilewright
