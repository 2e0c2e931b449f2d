// Runs the kernels of factorizations and solves of any order on the host: panels that do and do not divide
// the order, matrices in shared memory and where they lie, and every routine with its options.
#include "emulation/factor_large.hpp"

namespace tilewright::emulation {
namespace {

using F = float;
using D = double;
using CF = std::complex<float>;
using CD = std::complex<double>;
constexpr Uplo lower = Uplo::lower, upper = Uplo::upper;

constexpr LaneShape made(Routine routine, DType dtype, int n, int nrhs = 0, Uplo uplo = lower,
                         Op op = Op::none, Pivoting pivoting = Pivoting::partial, Side side = Side::left,
                         Diag diag = Diag::non_unit) {
  LaneShape p;
  p.routine = routine, p.dtype = dtype, p.m = p.n = n, p.nrhs = nrhs;
  p.uplo = uplo, p.op = op, p.pivoting = pivoting, p.side = side, p.diag = diag;
  return p;
}

constexpr FactorLie rows{FactorGpuPlace::strided, true}, gaps{FactorGpuPlace::strided, false, 3},
    addresses{FactorGpuPlace::pointers}, mixed{FactorGpuPlace::interleaved};
constexpr FactorLargeConfig in_place{.threads = 64, .panel = 16},
    in_shared{.threads = 64, .panel = 16, .shared = true},
    narrow{.threads = 64, .panel = 4, .rows = 2, .cols = 8},
    wide{.threads = 128, .panel = 32, .rows = 8, .cols = 2},
    wide_shared{.threads = 128, .panel = 32, .shared = true};
constexpr FactorLargeSolveConfig few{.threads = 64, .sides = 4}, many{.threads = 128, .sides = 16},
    single{.threads = 64, .sides = 1};

TEST(FactorLargeEmulation, Cholesky) {
  FactorLargeCase<D, made(Routine::potrf, DType::f64, 45), in_place>().expect_right();
  FactorLargeCase<F, made(Routine::potrf, DType::f32, 48, 0, upper), in_shared>().expect_right();
  FactorLargeCase<CD, made(Routine::potrf, DType::c128, 35, 0, upper), wide, few, rows>().expect_right();
  FactorLargeCase<CF, made(Routine::potrf, DType::c64, 70), wide_shared, few, gaps>().expect_right();
  FactorLargeCase<D, made(Routine::potrf, DType::f64, 19), narrow, few, mixed>().expect_right();
  FactorLargeCase<F, made(Routine::potrf, DType::f32, 5), in_shared, few, addresses>().expect_right();
}

TEST(FactorLargeEmulation, Lu) {
  FactorLargeCase<D, made(Routine::getrf, DType::f64, 45), in_place>().expect_right();
  FactorLargeCase<F, made(Routine::getrf, DType::f32, 48), in_shared>().expect_right();
  FactorLargeCase<D, made(Routine::getrf, DType::f64, 70), in_place, few, rows>().expect_right();
  FactorLargeCase<CD, made(Routine::getrf, DType::c128, 35), wide, few, gaps>().expect_right();
  FactorLargeCase<CF, made(Routine::getrf, DType::c64, 69), wide_shared, few, rows>().expect_right();
  FactorLargeCase<D, made(Routine::getrf, DType::f64, 27), narrow, few, mixed>().expect_right();
  FactorLargeCase<F, made(Routine::getrf, DType::f32, 33), narrow, few, addresses>().expect_right();
  FactorLargeCase<D, made(Routine::getrf, DType::f64, 1), in_place>().expect_right();
  FactorLargeCase<D, made(Routine::getrf, DType::f64, 40, 0, lower, Op::none, Pivoting::none), in_place>()
      .expect_right();
  FactorLargeCase<CF, made(Routine::getrf, DType::c64, 40, 0, lower, Op::none, Pivoting::none), in_shared>()
      .expect_right();
}

TEST(FactorLargeEmulation, TriangularSolves) {
  constexpr auto solve = [](DType dtype, int n, int nrhs, Side side, Uplo uplo, Op op,
                            Diag diag = Diag::non_unit) {
    return made(Routine::trsm, dtype, n, nrhs, uplo, op, Pivoting::partial, side, diag);
  };
  FactorLargeCase<D, solve(DType::f64, 70, 3, Side::left, lower, Op::none), in_place>().expect_right();
  FactorLargeCase<D, solve(DType::f64, 45, 9, Side::left, lower, Op::trans), in_place, few, rows, gaps>()
      .expect_right();
  FactorLargeCase<F, solve(DType::f32, 40, 17, Side::right, upper, Op::none), in_place, many, gaps, rows>()
      .expect_right();
  FactorLargeCase<CF, solve(DType::c64, 37, 2, Side::right, lower, Op::conj_trans), in_place, few, mixed,
                  addresses>()
      .expect_right();
  FactorLargeCase<CD, solve(DType::c128, 33, 4, Side::left, upper, Op::conj_trans, Diag::unit), in_place>()
      .expect_right();
}

TEST(FactorLargeEmulation, SolvesWithFactors) {
  FactorLargeCase<D, made(Routine::potrs, DType::f64, 40, 2), in_place>().expect_right();
  FactorLargeCase<F, made(Routine::potrs, DType::f32, 70, 1), in_place, single>().expect_right();
  FactorLargeCase<CD, made(Routine::potrs, DType::c128, 36, 2, upper), in_place, few, rows>().expect_right();
  FactorLargeCase<D, made(Routine::getrs, DType::f64, 40, 5), in_place>().expect_right();
  FactorLargeCase<F, made(Routine::getrs, DType::f32, 70, 3, lower, Op::trans), in_place, few, rows, gaps>()
      .expect_right();
  FactorLargeCase<CD, made(Routine::getrs, DType::c128, 35, 2, lower, Op::conj_trans), in_place, few,
                  addresses>()
      .expect_right();
  FactorLargeCase<CF, made(Routine::getrs, DType::c64, 35, 2, lower, Op::trans, Pivoting::none), in_place>()
      .expect_right();
}

TEST(FactorLargeEmulation, Systems) {
  FactorLargeCase<CD, made(Routine::posv, DType::c128, 40, 2, upper), in_place, few, rows>().expect_right();
  FactorLargeCase<CF, made(Routine::posv, DType::c64, 36, 2, upper), in_shared, few, mixed>().expect_right();
  FactorLargeCase<D, made(Routine::gesv, DType::f64, 45, 5), in_place, many, rows, gaps>().expect_right();
  FactorLargeCase<F, made(Routine::gesv, DType::f32, 48, 2), in_shared, few, addresses>().expect_right();
  FactorLargeCase<D, made(Routine::gesv, DType::f64, 34, 1, lower, Op::none, Pivoting::none), in_place>()
      .expect_right();
}

TEST(FactorLargeEmulation, InversesAndDeterminants) {
  FactorLargeCase<D, made(Routine::inv, DType::f64, 40), in_place>().expect_right();
  FactorLargeCase<CF, made(Routine::inv, DType::c64, 34), in_shared, few, rows, gaps>().expect_right();
  FactorLargeCase<D, made(Routine::getri, DType::f64, 40), in_place, few, rows>().expect_right();
  FactorLargeCase<CD, made(Routine::potri, DType::c128, 34, 0, upper), in_place>().expect_right();
  FactorLargeCase<F, made(Routine::potri, DType::f32, 40), in_place, few, rows>().expect_right();
  FactorLargeCase<D, made(Routine::det, DType::f64, 35), in_place>().expect_right();
  FactorLargeCase<CF, made(Routine::det, DType::c64, 33), in_shared, few, rows>().expect_right();
}

}  // namespace
}  // namespace tilewright::emulation
