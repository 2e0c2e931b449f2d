// Cholesky's factorization and what it serves, LAPACK xPOTRF, xPOTRS, xPOSV and xPOTRI, for the problems of a
// vector at once. Highway compiles this file per instruction set.
#include "kernel/factor_cpu/kernel.hpp"
#include "kernel/factor_cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/factor_cpu/cholesky.cpp"
#include "hwy/foreach_target.h"
// These follow foreach_target, which sets the instruction set they compile for.
#include "hwy/highway.h"
#include "kernel/factor_cpu/blocks.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

// Factors the lower triangle of a diagonal block in registers. `first` is its first row, counted from 0;
// problems whose pivot is not positive get its number in info, once, and zeros in the columns from there on.
template <class A, int N, class V = typename A::V>
HWY_INLINE void factor_diagonal(LaneBlock<A, N, N>& block, std::int64_t first, V& info,
                                typename A::Real* inverses) {
  auto& x = block.x;
#pragma GCC unroll 4
  for (int j = 0; j < N; ++j) {
    V pivot = x[j][j];
    if constexpr (A::is_complex) pivot = hn::DupEven(pivot);
    const auto positive = hn::Gt(pivot, A::zero());
    info =
        hn::IfThenElse(hn::Or(positive, hn::Gt(info, A::zero())), info, A::constant(double(first + j + 1)));
    const V root = hn::Sqrt(pivot);
    const V inverse = hn::IfThenElseZero(positive, hn::Div(A::constant(1), root));
    const V diagonal = hn::IfThenElse(positive, root, pivot);
    if constexpr (A::is_complex) {
      x[j][j] = hn::OddEven(A::zero(), diagonal);
      A::store(hn::OddEven(A::zero(), inverse), inverses + j * A::reals());
    } else {
      x[j][j] = diagonal;
      A::store(inverse, inverses + j * A::reals());
    }
#pragma GCC unroll 4
    for (int i = j + 1; i < N; ++i) x[i][j] = hn::Mul(x[i][j], inverse);
#pragma GCC unroll 4
    for (int c = j + 1; c < N; ++c) {
      const auto right = A::right(A::conj(x[c][j]));
#pragma GCC unroll 4
      for (int i = c; i < N; ++i) x[i][c] = A::subtract_product(x[i][c], A::left(x[i][j]), right);
    }
  }
}

// A = L L^H in the lower triangle; returns info per lane.
template <class A, class Matrix = LaneMatrix<typename A::Real>>
typename A::V factor_lower(const Matrix& a, std::int64_t n, typename A::Real* inverses) {
  auto info = A::zero();
  each_block<A>(n, n, [&](std::int64_t i, std::int64_t j, auto rows, auto cols) HWY_ATTR {
    if (i < j) return;
    LaneBlock<A, rows(), cols()> block;
    block.load(a.from(i, j));
    block.template subtract_product<false, true>(a.from(i, 0), a.from(j, 0).transposed(), j);
    typename A::Real* const at = inverses + j * A::reals();
    if (i > j) {
      block.template solve_right<true>(a.from(j, j).transposed(), Matrix{at, A::reals(), 0});
      return block.store(a.from(i, j));
    }
    if constexpr (rows() == cols()) {
      factor_diagonal<A, rows()>(block, j, info, at);
      for (int c = 0; c < cols(); ++c)
        for (int r = c; r < rows(); ++r) A::store(block.x[r][c], a.at(i + r, j + c));
    }
  });
  return info;
}

// B = inv(L L^H) B. An upper triangle U is the transpose of conj(L).
template <class A, class Matrix = LaneMatrix<typename A::Real>>
void solve_with_factor(const Matrix& l, std::int64_t n, bool upper, const Inverses<A>& inverses,
                       const Matrix& b, std::int64_t nrhs) {
  if (upper) {
    solve_lower<A, true>(l, n, &inverses, b, nrhs);
    solve_upper<A, false>(l.transposed(), n, &inverses, b, nrhs);
  } else {
    solve_lower<A, false>(l, n, &inverses, b, nrhs);
    solve_upper<A, true>(l.transposed(), n, &inverses, b, nrhs);
  }
}

// The lower triangle of inv(L L^H) = X^H X with X = inv(L), in place of L.
template <class A, class Matrix = LaneMatrix<typename A::Real>>
void invert_with_factor(const Matrix& l, std::int64_t n, const Inverses<A>& inverses, const Matrix& x) {
  set_unit<A>(x, n);
  for (std::int64_t j = 0; j < n;
       j += A::block) {  // X is lower triangular: its columns begin at their own row
    const std::int64_t cols = std::min<std::int64_t>(A::block, n - j);
    const Inverses<A> below(inverses.at().at(j, 0), n - j, inverses.needs_division());
    solve_lower<A, false>(l.from(j, j), n - j, &below, x.from(j, j), cols);
  }
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i) {
      auto sum = A::zero();
      for (std::int64_t k = i; k < n; ++k)
        sum = A::subtract_product(sum, A::left(A::conj(A::load(x.at(k, i)))), A::right(A::load(x.at(k, j))));
      A::store(hn::Neg(sum), l.at(i, j));
    }
}

// The kernel of the routines named above.
template <class A>
void run_cholesky(const LaneShape& shape, const LaneGroup& group) {
  using Real = typename A::Real;
  const bool upper = shape.uplo == Uplo::upper,
             factors = shape.routine == Routine::potrf || shape.routine == Routine::posv;
  const std::int64_t n = shape.n;
  auto* const work = static_cast<Real*>(group.work);
  each_vector<A>(shape, group, [&](const auto& stored, const auto& b, std::int64_t slot) HWY_ATTR {
    const auto a = upper ? stored.transposed() : stored;
    if (factors) store_info<A>(factor_lower<A>(a, n, work), group.info + slot);
    if (shape.routine == Routine::potrf) return;
    const Inverses<A> inverses = factors ? Inverses<A>(work, n, false) : Inverses<A>(a, n, work);
    if (shape.routine != Routine::potri) return solve_with_factor<A>(a, n, upper, inverses, b, shape.nrhs);
    store_info<A>(first_zero<A>(a, n), group.info + slot);
    const LaneMatrix<Real> x{work + n * A::reals(), A::reals(), lane_line(n) * A::reals()};
    invert_with_factor<A>(a, n, inverses, x);
  });
}

LaneKernel find_cholesky(const LaneShape& shape) {
  return dispatch(shape.dtype, []<class T>() -> LaneKernel { return run_cholesky<LanesOf<T>>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewright {

HWY_EXPORT(find_cholesky);

LaneKernel find_cholesky_kernel(const LaneShape& shape) { return HWY_DYNAMIC_DISPATCH(find_cholesky)(shape); }

}  // namespace tilewright
#endif
