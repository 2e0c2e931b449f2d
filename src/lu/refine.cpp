// Iterative refinement (LAPACK xGERFS, without its forward bound): r = b - op(A) x, dx = inv(op(A)) r, x +
// dx, while that halves the componentwise backward error.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "gemm/parallel.hpp"
#include "lu/calls.hpp"
#include "lu/solver.hpp"
#include "lu/validate.hpp"

namespace tilewright {
namespace {

constexpr int most_steps = 5;

// LAPACK's cabs1; of real numbers the absolute value.
template <class T>
auto magnitude_1(const T& x) {
  if constexpr (is_complex(dtype_of<T>))
    return std::abs(x.real()) + std::abs(x.imag());
  else
    return std::abs(x);
}

template <class T>
class Refinement {
  using Real = decltype(std::abs(T()));

 public:
  Refinement(const LuSolver& solver, Op op, std::int64_t n, const T* a, std::int64_t lda)
      : solver_(solver), op_(op), n_(n), a_(a), lda_(lda), r_(std::size_t(n)), bound_(std::size_t(n)) {}

  // Improves x; returns its backward error and the steps that were made.
  std::pair<double, int> run(const T* lu, std::int64_t ldlu, const std::int64_t* pivots, const T* b, T* x) {
    const double eps = double(std::numeric_limits<Real>::epsilon()) / 2;
    double error = 0, last = 3;
    for (int steps = 0;; ++steps) {
      error = backward_error(b, x);
      const bool goes_on = error > eps && 2 * error <= last && steps < most_steps;
      if (!goes_on) return {error, steps};
      solver_.solve(op_, n_, 1, lu, ldlu, pivots, r_.data(), n_);
      for (std::int64_t i = 0; i < n_; ++i) x[i] += r_[std::size_t(i)];
      last = error;
    }
  }

 private:
  // max |r_i| / (|op(A)| |x| + |b|)_i; leaves r behind. Where the divisor may be nothing but rounding, both
  // are raised by what rounding makes of it, as LAPACK does.
  double backward_error(const T* b, const T* x) {
    std::copy(b, b + n_, r_.begin());
    solver_.subtract_product(op_, Op::none, n_, 1, n_, a_, lda_, x, n_, r_.data(), n_);
    sum_magnitudes(b, x);
    const Real eps = std::numeric_limits<Real>::epsilon() / 2;
    const Real safe1 = Real(n_ + 1) * std::numeric_limits<Real>::min(), safe2 = safe1 / eps;
    Real worst = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      const Real r = magnitude_1(r_[std::size_t(i)]), bound = bound_[std::size_t(i)];
      const Real ratio = bound > safe2 ? r / bound : (r + safe1) / (bound + safe1);
      if (!(ratio <= worst)) worst = ratio;  // a NaN stays
      if (std::isnan(worst)) break;
    }
    return double(worst);
  }

  // |op(A)| |x| + |b|, a range of rows or of columns of A for each thread.
  void sum_magnitudes(const T* b, const T* x) {
    for (std::int64_t i = 0; i < n_; ++i) bound_[std::size_t(i)] = magnitude_1(b[i]);
    parallel_ranges(solver_.blas().threads(), n_, 64, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t j = 0; j < n_; ++j)
        if (op_ == Op::none) {
          const Real weight = magnitude_1(x[j]);
          for (std::int64_t i = first; i < first + count; ++i)
            bound_[std::size_t(i)] += magnitude_1(a_[j * lda_ + i]) * weight;
        } else if (j >= first && j < first + count) {
          for (std::int64_t i = 0; i < n_; ++i)
            bound_[std::size_t(j)] += magnitude_1(a_[j * lda_ + i]) * magnitude_1(x[i]);
        }
    });
  }

  const LuSolver& solver_;
  Op op_;
  std::int64_t n_;
  const T* a_;
  std::int64_t lda_;
  std::vector<T> r_;
  std::vector<Real> bound_;
};

}  // namespace

template <class T>
LuRefinement lu_refine(Context& context, Op op, std::int64_t n, std::int64_t nrhs, const T* a,
                       std::int64_t lda, const T* lu, std::int64_t ldlu, const std::int64_t* pivots,
                       const T* b, std::int64_t ldb, T* x, std::int64_t ldx, const LuOptions& options) {
  validate_op(op);
  validate_size("n", n);
  validate_size("nrhs", nrhs);
  validate(LuMatrix{"a", a, n, n, "lda", lda, dtype_of<T>});
  validate(LuMatrix{"lu", lu, n, n, "ldlu", ldlu, dtype_of<T>});
  validate_pivots(n, pivots);
  validate(LuMatrix{"b", b, n, nrhs, "ldb", ldb, dtype_of<T>});
  validate(LuMatrix{"x", x, n, nrhs, "ldx", ldx, dtype_of<T>});
  validate_apart("x", x, "b", b, n * nrhs);
  validate_apart("x", x, "a", a, n * nrhs);
  validate_apart("x", x, "lu", lu, n * nrhs);
  validate_host(options);
  require_products(context, options, dtype_of<T>, n);
  LuRefinement result;
  const LuSolver solver(context, options);
  Refinement<T> refinement(solver, op, n, a, lda);
  for (std::int64_t j = 0; j < nrhs; ++j) {
    const auto [error, steps] = refinement.run(lu, ldlu, pivots, b + j * ldb, x + j * ldx);
    result.backward_errors.push_back(error);
    result.steps.push_back(steps);
    const bool is_number = !std::isnan(result.backward_error);  // else it stays
    if (is_number && !(error <= result.backward_error)) result.backward_error = error;
  }
  return result;
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                          \
  template LuRefinement lu_refine(Context&, Op, std::int64_t, std::int64_t, const T*, std::int64_t,        \
                                  const T*, std::int64_t, const std::int64_t*, const T*, std::int64_t, T*, \
                                  std::int64_t, const LuOptions&);
TILEWRIGHT_INSTANTIATE(float)
TILEWRIGHT_INSTANTIATE(double)
TILEWRIGHT_INSTANTIATE(std::complex<float>)
TILEWRIGHT_INSTANTIATE(std::complex<double>)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
