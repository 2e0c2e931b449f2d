// inv(A) = inv(U) inv(L) P in place (LAPACK xGETRI): U is inverted by halves, then X L = inv(U) is solved for
// X a block of columns at a time from the right, and the swaps are undone on columns. Where products of
// inverses may overflow or vanish, A X = I is solved instead, which takes room for a copy of the factors.
#include <algorithm>
#include <complex>
#include <vector>

#include "lu/calls.hpp"
#include "lu/pivots.hpp"
#include "lu/solver.hpp"
#include "lu/validate.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t block_columns = 128;  // of L, copied to work memory

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
    for (std::int64_t k = 0; k < count; ++k) {  // L below the diagonal moves away, zeros take its place
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

}  // namespace

template <class T>
LuReport lu_inverse(Context& context, std::int64_t n, T* a, std::int64_t lda, const std::int64_t* pivots,
                    const LuOptions& options) {
  validate_size("n", n);
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

#define TILEWRIGHT_INSTANTIATE(T)                                                             \
  template LuReport lu_inverse(Context&, std::int64_t, T*, std::int64_t, const std::int64_t*, \
                               const LuOptions&);
TILEWRIGHT_INSTANTIATE(float)
TILEWRIGHT_INSTANTIATE(double)
TILEWRIGHT_INSTANTIATE(std::complex<float>)
TILEWRIGHT_INSTANTIATE(std::complex<double>)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
