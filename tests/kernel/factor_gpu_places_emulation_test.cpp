// Runs the kernel of small factorizations on the host: every routine with its options, for matrices that lie
// by rows, with gaps, at addresses and interleaved, and with two stages.
#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <vector>

#include "emulation/factor_gpu.hpp"

namespace tilewright::emulation {
namespace {

using F = float;
using D = double;
using CF = std::complex<float>;
using CD = std::complex<double>;

constexpr LaneShape made(Routine routine, DType dtype, int n, int nrhs = 0, Uplo uplo = Uplo::lower,
                         Op op = Op::none, Pivoting pivoting = Pivoting::partial) {
  LaneShape p;
  p.routine = routine, p.dtype = dtype, p.m = p.n = n, p.nrhs = nrhs;
  p.uplo = uplo, p.op = op, p.pivoting = pivoting;
  return p;
}
constexpr LaneShape solve(DType dtype, int n, int nrhs, Side side, Uplo uplo, Op op,
                          Diag diag = Diag::non_unit) {
  LaneShape p = made(Routine::trsm, dtype, n, nrhs, uplo, op);
  p.side = side, p.diag = diag;
  return p;
}

constexpr FactorLie rows{.by_rows = true}, gaps{.gap = 3}, wide_gaps{.gap = 4};
constexpr FactorLie addresses{.place = FactorGpuPlace::pointers, .gap = 1};
constexpr FactorLie mixed{.place = FactorGpuPlace::interleaved};
constexpr Uplo lower = Uplo::lower, upper = Uplo::upper;
constexpr Side left = Side::left, right = Side::right;

TEST(FactorGpuPlaces, Cholesky) {
  FactorCase<F, made(Routine::potrf, DType::f32, 8), rows>().expect_right();
  FactorCase<F, made(Routine::potrf, DType::f32, 8, 0, upper), gaps>().expect_right();
  FactorCase<D, made(Routine::potrf, DType::f64, 12, 0, upper), rows>().expect_right();
  FactorCase<D, made(Routine::potrf, DType::f64, 18), wide_gaps>().expect_right();
  FactorCase<CF, made(Routine::potrf, DType::c64, 7), addresses>().expect_right();
  FactorCase<CD, made(Routine::potrf, DType::c128, 5, 0, upper), mixed>().expect_right();
  FactorCase<D, made(Routine::potrf, DType::f64, 6), FactorLie{}, FactorLie{}, 2>().expect_right();
}

TEST(FactorGpuPlaces, Lu) {
  FactorCase<F, made(Routine::getrf, DType::f32, 16), rows>().expect_right();
  FactorCase<D, made(Routine::getrf, DType::f64, 9), gaps>().expect_right();
  FactorCase<D, made(Routine::getrf, DType::f64, 24), wide_gaps, wide_gaps, 2>().expect_right();
  FactorCase<CF, made(Routine::getrf, DType::c64, 6), mixed>().expect_right();
  FactorCase<CD, made(Routine::getrf, DType::c128, 20), addresses>().expect_right();
  constexpr auto none = Pivoting::none;
  FactorCase<F, made(Routine::getrf, DType::f32, 8, 0, lower, Op::none, none)>().expect_right();
  FactorCase<CD, made(Routine::getrf, DType::c128, 19, 0, lower, Op::none, none), rows>().expect_right();
}

template <class T, LaneShape P, int Direct, FactorLie Lie = FactorLie{}>
void expect_right_directly() {
  FactorCase<T, P, Lie, Lie, 1, Direct>().expect_right();
}

TEST(FactorGpuPlaces, DirectCholesky) {
  expect_right_directly<F, made(Routine::potrf, DType::f32, 2), 4>();
  expect_right_directly<F, made(Routine::potrf, DType::f32, 3, 0, upper), 4>();
  expect_right_directly<F, made(Routine::potrf, DType::f32, 4, 0, upper), 2, rows>();
  expect_right_directly<D, made(Routine::potrf, DType::f64, 2), 2>();
  expect_right_directly<D, made(Routine::potrf, DType::f64, 5), 2>();
  expect_right_directly<CF, made(Routine::potrf, DType::c64, 3), 2, rows>();
  expect_right_directly<CD, made(Routine::potrf, DType::c128, 2, 0, upper), 1, addresses>();
}

TEST(FactorGpuPlaces, DirectLu) {
  expect_right_directly<F, made(Routine::getrf, DType::f32, 2), 1>();
  expect_right_directly<F, made(Routine::getrf, DType::f32, 3), 8>();
  expect_right_directly<F, made(Routine::getrf, DType::f32, 5), 4, rows>();
  expect_right_directly<D, made(Routine::getrf, DType::f64, 3), 2>();
  expect_right_directly<D, made(Routine::getrf, DType::f64, 4), 2, wide_gaps>();
  expect_right_directly<D, made(Routine::getrf, DType::f64, 6), 1, gaps>();
  expect_right_directly<CF, made(Routine::getrf, DType::c64, 4), 1, mixed>();
  expect_right_directly<CD, made(Routine::getrf, DType::c128, 3), 2, addresses>();
  expect_right_directly<F, made(Routine::getrf, DType::f32, 4, 0, lower, Op::none, Pivoting::none), 2>();
}

TEST(FactorGpuPlaces, TriangularSolves) {
  FactorCase<D, solve(DType::f64, 4, 9, left, lower, Op::trans), rows, gaps>().expect_right();
  FactorCase<D, solve(DType::f64, 17, 3, right, lower, Op::none), gaps, rows>().expect_right();
  FactorCase<F, solve(DType::f32, 8, 40, left, upper, Op::trans), addresses>().expect_right();
  FactorCase<CF, solve(DType::c64, 6, 6, right, upper, Op::conj_trans), mixed, addresses>().expect_right();
  FactorCase<CD, solve(DType::c128, 9, 4, right, lower, Op::conj_trans, Diag::unit), rows>().expect_right();
  FactorCase<CD, solve(DType::c128, 9, 4, left, upper, Op::conj_trans), rows, mixed>().expect_right();
  FactorCase<CF, solve(DType::c64, 5, 2, left, lower, Op::conj_trans), FactorLie{}, FactorLie{}, 2>()
      .expect_right();
}

TEST(FactorGpuPlaces, SolvesWithFactors) {
  FactorCase<D, made(Routine::potrs, DType::f64, 6, 2)>().expect_right();
  FactorCase<CD, made(Routine::potrs, DType::c128, 6, 2, upper), rows>().expect_right();
  FactorCase<CF, made(Routine::potrs, DType::c64, 17, 1), gaps>().expect_right();
  FactorCase<D, made(Routine::getrs, DType::f64, 6, 2)>().expect_right();
  FactorCase<F, made(Routine::getrs, DType::f32, 10, 3, lower, Op::trans), rows, gaps>().expect_right();
  FactorCase<CD, made(Routine::getrs, DType::c128, 5, 2, lower, Op::conj_trans), addresses>().expect_right();
  FactorCase<CF, made(Routine::getrs, DType::c64, 5, 2, lower, Op::trans, Pivoting::none)>().expect_right();
}

TEST(FactorGpuPlaces, SystemsInOnePass) {
  FactorCase<CD, made(Routine::posv, DType::c128, 6, 2, upper), rows>().expect_right();
  FactorCase<CF, made(Routine::posv, DType::c64, 9, 2, upper), mixed>().expect_right();
  FactorCase<D, made(Routine::gesv, DType::f64, 12, 5), rows, gaps>().expect_right();
  FactorCase<F, made(Routine::gesv, DType::f32, 20, 2), addresses>().expect_right();
  FactorCase<D, made(Routine::gesv, DType::f64, 8, 1, lower, Op::none, Pivoting::none)>().expect_right();
}

TEST(FactorGpuPlaces, Inverses) {
  FactorCase<D, made(Routine::inv, DType::f64, 7)>().expect_right();
  FactorCase<CF, made(Routine::inv, DType::c64, 18), rows, gaps>().expect_right();
  FactorCase<F, made(Routine::getri, DType::f32, 9)>().expect_right();
  FactorCase<CD, made(Routine::getri, DType::c128, 4), addresses>().expect_right();
  FactorCase<D, made(Routine::potri, DType::f64, 9, 0, upper), gaps>().expect_right();
  FactorCase<CD, made(Routine::potri, DType::c128, 6, 0, upper), rows>().expect_right();
  FactorCase<CF, made(Routine::potri, DType::c64, 11)>().expect_right();
}

TEST(FactorGpuPlaces, Determinants) {
  FactorCase<D, made(Routine::det, DType::f64, 3)>().expect_right();
  FactorCase<CF, made(Routine::det, DType::c64, 8), rows>().expect_right();
  FactorCase<D, made(Routine::det, DType::f64, 18), gaps>().expect_right();
}

template <class R>
R product_of_pivots(R first, const std::vector<R>& others) {
  FactorGpuProduct<R> product(first);
  for (const R x : others) product.multiply(x);
  return product.value();
}

TEST(FactorGpuPlaces, ProductsOfPivotsDoNotOverflowOnTheWay) {
  constexpr D large = 0x1p830, small = 0x1p-830, infinite = std::numeric_limits<D>::infinity();
  EXPECT_EQ(product_of_pivots<D>(-1, {large, large, small, small}), -1);
  EXPECT_EQ(product_of_pivots<D>(1, {small, small, large, 3 * large}), 3);
  EXPECT_EQ(product_of_pivots<D>(-1, {large, large, large}), -infinite);
  EXPECT_EQ(product_of_pivots<D>(1, {small, small, 5}), 0);
  EXPECT_EQ(product_of_pivots<F>(1, {0x1p100f, 0x1p100f, 0x1p-100f, 0x1p-97f}), 8);
  EXPECT_EQ(product_of_pivots<F>(1, {0x1p-149f, 0x1p-149f, 0x1p120f, 0x1p120f, 0x1p60f}), 4);
  FactorGpuProduct<Complex<F>> product(Complex<F>{1, 0});
  for (int i = 0; i < 3; ++i) product.multiply({0, 0x1p100f});
  EXPECT_EQ(product.value().re, 0);
  EXPECT_EQ(product.value().im, -std::numeric_limits<F>::infinity());
}

}  // namespace
}  // namespace tilewright::emulation
