// Systems, inverses and refinement with the factors of a matrix in host memory. Triangular solves and
// products are made as the options say: the CPU takes a whole triangle, GPUs cut it until products prevail.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/dispatch.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "lu/blas.hpp"
#include "lu/calls.hpp"
#include "lu/reference.hpp"
#include "lu/updates.hpp"
#include "lu/validate.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t base_beside_gpus = 512;  // triangles that the CPU solves while GPUs multiply

// The solves and products of one call.
class LuSolver {
 public:
  LuSolver(Context& context, const LuOptions& options)
      : blas_(context, options.threads),
        options_(product_options(options)),
        cpu_alone_(options.target == Target::cpu ||
                   (options.target == Target::automatic && Access::impl(context).hybrid->gpus().empty())) {}

  const HostBlas& blas() const { return blas_; }

  // C -= op_a(A) op_b(B)
  template <class T>
  void subtract_product(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                        std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc) const {
    if (cpu_alone_) return blas_.subtract_product(op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);
    subtract_product_with<T>(blas_.context(), options_, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);
  }
  template <class T>
  void solve_triangle(const Triangle& triangle, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda,
                      T* b, std::int64_t ldb) const {
    if (cpu_alone_) return blas_.solve(triangle, m, n, a, lda, b, ldb);
    solve_by_halves(
        triangle, base_beside_gpus, [this](auto... arguments) { subtract_product<T>(arguments...); },
        [this](const Triangle& t, auto... arguments) { blas_.solve<T>(t, arguments...); }, m, n, a, lda, b,
        ldb);
  }
  // X = inv(op(A)) B by the factors and pivots of A; B is n x nrhs (LAPACK xGETRS).
  template <class T>
  void solve(Op op, std::int64_t n, std::int64_t nrhs, const T* lu, std::int64_t lda,
             const std::int64_t* pivots, T* b, std::int64_t ldb) const {
    if (n == 0 || nrhs == 0) return;
    const Triangle lower{Side::left, Uplo::lower, op, Diag::unit};
    const Triangle upper{Side::left, Uplo::upper, op, Diag::non_unit};
    if (op == Op::none) blas_.swap_rows(nrhs, b, ldb, n, pivots);
    solve_triangle(op == Op::none ? lower : upper, n, nrhs, lu, lda, b, ldb);
    solve_triangle(op == Op::none ? upper : lower, n, nrhs, lu, lda, b, ldb);
    if (op != Op::none) blas_.swap_rows(nrhs, b, ldb, n, pivots, false);
  }

 private:
  HostBlas blas_;
  GemmOptions options_;  // of products
  bool cpu_alone_;       // no GPU may or can multiply
};

// Throws Error(unsupported) if no implementation that the options allow multiplies, before anything is
// written: products of at most `most` rows and columns.
void require_products(Context& context, const LuOptions& options, DType dtype, std::int64_t most) {
  if (options.target == Target::cpu || options.target == Target::automatic) return;
  GemmProblem p;
  p.dtype = dtype;
  p.m = p.n = p.k = p.lda = p.ldb = p.ldc = std::max<std::int64_t>(1, most);
  p.alpha = Scalar::general, p.beta = Scalar::one;
  plan(context, p, product_options(options));
}

constexpr std::int64_t block_columns = 128;  // of L, copied to work memory

// inv(A) = inv(U) inv(L) P in place (LAPACK xGETRI): U is inverted by halves, then X L = inv(U) is solved for
// X a block of columns at a time from the right, and the swaps are undone on columns.
template <class T>
class Inverse {
 public:
  Inverse(const LuSolver& solver, std::int64_t n, T* a, std::int64_t lda)
      : solver_(solver), n_(n), a_(a), lda_(lda) {}

  void run(const std::int64_t* pivots) {
    std::vector<T> work(std::size_t(n_) * std::size_t(std::min(n_, block_columns)));
    invert_upper(n_, a_);
    const std::int64_t last = (n_ - 1) / block_columns * block_columns;
    for (std::int64_t j = last; j >= 0; j -= block_columns)
      solve_columns(j, std::min(block_columns, n_ - j), work.data());
    for (std::int64_t j = n_ - 1; j >= 0; --j)
      if (pivots[j] - 1 != j)
        std::swap_ranges(a_ + j * lda_, a_ + j * lda_ + n_, a_ + (pivots[j] - 1) * lda_);
  }

 private:
  // inv([U11 U12; 0 U22]) = [inv(U11)  -inv(U11) U12 inv(U22); 0  inv(U22)]
  void invert_upper(std::int64_t n, T* u) {
    if (n <= 16) return invert_small_upper(n, u);
    const std::int64_t half = n / 2, rest = n - half;
    T* const u12 = u + half * lda_;
    T* const u22 = u12 + half;
    solver_.solve_triangle({Side::left, Uplo::upper, Op::none, Diag::non_unit}, half, rest, u, lda_, u12,
                           lda_);
    solver_.solve_triangle({Side::right, Uplo::upper, Op::none, Diag::non_unit}, half, rest, u22, lda_, u12,
                           lda_);
    for (std::int64_t j = 0; j < rest; ++j)
      for (std::int64_t i = 0; i < half; ++i) u12[j * lda_ + i] = -u12[j * lda_ + i];
    invert_upper(half, u);
    invert_upper(rest, u22);
  }

  // A column at a time, the columns before it being inverted: x = -inv(U00) u / pivot (LAPACK xTRTI2).
  void invert_small_upper(std::int64_t n, T* u) {
    for (std::int64_t j = 0; j < n; ++j) {
      T* const x = u + j * lda_;
      x[j] = T(1) / x[j];
      for (std::int64_t i = 0; i < j; ++i) {
        T sum(0);
        for (std::int64_t k = i; k < j; ++k) sum += u[k * lda_ + i] * x[k];
        x[i] = -sum * x[j];
      }
    }
  }

  // X(:, j ...) L(j ..., j ...) = inv(U)(:, j ...), the columns to the right being final.
  void solve_columns(std::int64_t j, std::int64_t count, T* work) {
    const std::int64_t rows = n_ - j, behind = rows - count;
    T* const x = a_ + j * lda_;
    for (std::int64_t k = 0; k < count; ++k) {  // L below the diagonal moves to work, zeros replace it
      T* const column = x + k * lda_ + j;
      std::copy(column + k, column + rows, work + k * rows + k);
      std::fill(column + k + 1, column + rows, T(0));
    }
    solver_.subtract_product(Op::none, Op::none, n_, count, behind, x + count * lda_, lda_, work + count,
                             rows, x, lda_);
    solver_.solve_triangle({Side::right, Uplo::lower, Op::none, Diag::unit}, n_, count, work, rows, x, lda_);
  }

  const LuSolver& solver_;
  std::int64_t n_;
  T* a_;
  std::int64_t lda_;
};

// A X = I, with a copy of the factors: for matrices whose products of inverses may overflow or vanish.
template <class T>
void solve_identity(const LuSolver& solver, std::int64_t n, T* a, std::int64_t lda,
                    const std::int64_t* pivots) {
  std::vector<T> lu(std::size_t(n) * std::size_t(n));
  for (std::int64_t j = 0; j < n; ++j) {
    T* const column = a + j * lda;
    std::copy(column, column + n, lu.data() + j * n);
    std::fill(column, column + n, T(0));
    column[j] = T(1);
  }
  solver.solve(Op::none, n, n, lu.data(), n, pivots, a, lda);
}

constexpr int most_steps = 5;  // of refinement

// Iterative refinement (LAPACK xGERFS, without its forward bound): r = b - op(A) x, dx = inv(op(A)) r, x +
// dx, while that halves the componentwise backward error.
template <class T>
class Refinement {
  using Real = RealPart<T>;

 public:
  Refinement(const LuSolver& solver, Op op, std::int64_t n, const T* a, std::int64_t lda)
      : solver_(solver), op_(op), n_(n), a_(a), lda_(lda), r_(std::size_t(n)), bound_(std::size_t(n)) {}

  // Improves x; returns its backward error and the number of steps.
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
  // max |r_i| / (|op(A)| |x| + |b|)_i; keeps r. If the divisor may be mere rounding, both are raised by the
  // bound of rounding, as LAPACK does.
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
void lu_solve(Context& context, Op op, std::int64_t n, std::int64_t nrhs, const T* a, std::int64_t lda,
              const std::int64_t* pivots, T* b, std::int64_t ldb, const LuOptions& options) {
  validate_op(op);
  refuse_negative("n", n);
  refuse_negative("nrhs", nrhs);
  validate(LuMatrix{"a", a, n, n, "lda", lda, dtype_of<T>});
  validate_pivots(n, pivots);
  validate(LuMatrix{"b", b, n, nrhs, "ldb", ldb, dtype_of<T>});
  validate_apart("b", b, "a", a, n * nrhs);
  validate_host(options);
  require_products(context, options, dtype_of<T>, n);
  LuSolver(context, options).solve(op, n, nrhs, a, lda, pivots, b, ldb);
}

template <class T>
LuReport lu_inverse(Context& context, std::int64_t n, T* a, std::int64_t lda, const std::int64_t* pivots,
                    const LuOptions& options) {
  refuse_negative("n", n);
  validate(LuMatrix{"a", a, n, n, "lda", lda, dtype_of<T>});
  validate_pivots(n, pivots);
  validate_host(options);
  require_products(context, options, dtype_of<T>, n);
  LuReport report;
  for (std::int64_t i = 0; i < n; ++i)
    if (a[i * lda + i] == T(0)) {
      report.info = i + 1;
      return report;
    }
  if (n == 0) return report;
  const LuSolver solver(context, options);
  if (is_steep(n, a, lda))
    solve_identity(solver, n, a, lda, pivots);
  else
    Inverse<T>(solver, n, a, lda).run(pivots);
  return report;
}

template <class T>
LuRefinement lu_refine(Context& context, Op op, std::int64_t n, std::int64_t nrhs, const T* a,
                       std::int64_t lda, const T* lu, std::int64_t ldlu, const std::int64_t* pivots,
                       const T* b, std::int64_t ldb, T* x, std::int64_t ldx, const LuOptions& options) {
  validate_op(op);
  refuse_negative("n", n);
  refuse_negative("nrhs", nrhs);
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
  template void lu_solve(Context&, Op, std::int64_t, std::int64_t, const T*, std::int64_t,                 \
                         const std::int64_t*, T*, std::int64_t, const LuOptions&);                         \
  template LuReport lu_inverse(Context&, std::int64_t, T*, std::int64_t, const std::int64_t*,              \
                               const LuOptions&);                                                          \
  template LuRefinement lu_refine(Context&, Op, std::int64_t, std::int64_t, const T*, std::int64_t,        \
                                  const T*, std::int64_t, const std::int64_t*, const T*, std::int64_t, T*, \
                                  std::int64_t, const LuOptions&);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
