// The shape of the kernel that computes a routine: upper triangles and right sides become lower triangles
// and left sides of transposed matrices, so that the kernel knows one of each.
#pragma once

#include "kernel/factor_cpu/kernel.hpp"
#include "kernel/factor_gpu/config.hpp"

namespace tilewright {

constexpr bool factor_gpu_is_triangular(Routine r) {
  return r == Routine::potrf || r == Routine::potrs || r == Routine::posv || r == Routine::potri ||
         r == Routine::trsm;
}
// True if the kernel sees A, and what is in its place, transposed.
constexpr bool factor_gpu_turns_a(const LaneShape& s) {
  return factor_gpu_is_triangular(s.routine) && s.uplo == Uplo::upper;
}
constexpr bool factor_gpu_turns_b(const LaneShape& s) {
  return (s.routine == Routine::trsm && s.side == Side::right) ||
         (s.routine == Routine::potri && factor_gpu_turns_a(s));
}

constexpr void factor_gpu_add_solve(FactorGpuShape& shape, const LaneShape& s) {
  const bool complex = is_complex(s.dtype), turned = factor_gpu_turns_a(s);
  const bool makes_inverse =
      s.routine == Routine::inv || s.routine == Routine::getri || s.routine == Routine::potri;
  shape.identity = makes_inverse;
  shape.nrhs = makes_inverse ? int(s.n) : int(s.nrhs);
  switch (s.routine) {
    case Routine::trsm:
      shape.solve = FactorGpuSolve::triangle;
      shape.trans = ((s.op != Op::none) != turned) != (s.side == Side::right);
      shape.conj = complex && s.op == Op::conj_trans;
      shape.unit = s.diag == Diag::unit;
      return;
    case Routine::posv:
    case Routine::potrs:
    case Routine::potri:
      shape.solve = FactorGpuSolve::cholesky;
      // The transposed A is the conjugate of A, and so is its factor; an inverse is written as A is read.
      shape.conj = complex && turned && !makes_inverse;
      shape.half = makes_inverse;
      return;
    default:
      shape.solve = FactorGpuSolve::lu;
      shape.trans = s.routine == Routine::getrs && s.op != Op::none;
      shape.conj = s.routine == Routine::getrs && complex && s.op == Op::conj_trans;
  }
}

// Rows of A and B are contiguous if `a_by_rows` and `b_by_rows`; places and pieces are left to the caller. A
// must be square.
constexpr FactorGpuShape factor_gpu_shape(const LaneShape& s, bool a_by_rows, bool b_by_rows,
                                          bool scales = false) {
  FactorGpuShape shape;
  const Routine r = s.routine;
  shape.n = int(s.n);
  const bool by_lu = r == Routine::getrf || r == Routine::gesv || r == Routine::inv || r == Routine::det;
  const bool pivots = s.pivoting == Pivoting::partial;
  if (r == Routine::potrf || r == Routine::posv) shape.method = FactorGpuMethod::cholesky;
  if (by_lu) shape.method = pivots ? FactorGpuMethod::lu : FactorGpuMethod::lu_without_pivots;
  shape.writes_a = r == Routine::potrf || r == Routine::getrf;
  shape.writes_det = r == Routine::det;
  shape.exchanges = pivots && r != Routine::det && !factor_gpu_is_triangular(r);
  shape.checks_diagonal = r == Routine::getri || r == Routine::potri;
  shape.a_by_rows = a_by_rows != factor_gpu_turns_a(s);
  if (shape.writes_a || shape.writes_det) return shape;
  factor_gpu_add_solve(shape, s);
  shape.b_by_rows = b_by_rows != factor_gpu_turns_b(s);
  shape.scales = scales;
  return shape;
}

}  // namespace tilewright
