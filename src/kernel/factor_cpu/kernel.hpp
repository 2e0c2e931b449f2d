// Kernels of factorizations, solves and inverses of small matrices on the CPU: a vector holds the same
// element of several problems, one per lane (Dongarra et al. 2017, section 4), so that no step of an
// algorithm is too small for a vector. A driver brings matrices of any layout into this arrangement and back
// (kernel/layout/layout.hpp).
#pragma once

#include <cstdint>

#include "tilewright/routine.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

// Rows and columns of A: sets of rows are masks of 128 bits. Reflectors and rotations pass all of their
// matrices for each column or pair, and keep to those that a second-level cache holds beside each other.
inline constexpr std::int64_t most_lane_rows = 128;
inline constexpr std::int64_t lane_row_set_bytes = most_lane_rows / 8;
constexpr std::int64_t most_lane_rows_of(Routine routine) {
  return routine >= Routine::geqrf ? most_lane_rows / 2 : most_lane_rows;
}

// Elements from a line of a group's matrix, a column or a row, to the next. Lines of even lengths may begin
// at the same few places of a cache.
constexpr std::int64_t lane_line(std::int64_t length) {
  return length >= 32 && length % 2 == 0 ? length + 1 : length;
}
// Elements of a group's matrix for each slot, by columns or by rows.
constexpr std::int64_t lane_elements(std::int64_t rows, std::int64_t cols) {
  const std::int64_t by_columns = lane_line(rows) * cols, by_rows = rows * lane_line(cols);
  return by_columns > by_rows ? by_columns : by_rows;
}

// The info of eigenvalues and singular values of a matrix that is not finite: every pair of columns is left.
constexpr std::int64_t pairs_of_columns(std::int64_t n) { return n < 2 ? 1 : n * (n - 1) / 2; }

// The part of a problem that the kernels depend on. Matrices are square n x n except those of getrf, the
// routines of QR and gesvd with m x n.
struct LaneShape {
  Routine routine = Routine::potrf;
  DType dtype = DType::f64;
  std::int64_t m = 0, n = 0;  // A; without nrhs also the result
  std::int64_t nrhs = 0;      // the columns of B, with Side::right the rows
  Uplo uplo = Uplo::lower;
  Side side = Side::left;
  Op op = Op::none;
  Diag diag = Diag::non_unit;
  Pivoting pivoting = Pivoting::partial;
  bool vectors = false;  // syev and gesvd
};

// The problems of one group, side by side. Element (i, j) of a matrix with `rows` rows begins at (j *
// lane_line(rows) + i) * slots elements, and holds `slots` problems.
struct LaneGroup {
  std::int64_t slots = 0;  // a multiple of lane_slots(dtype)
  void* a = nullptr;       // m x n
  void* b = nullptr;       // m x nrhs, nrhs x n with Side::right; the inverse, vectors or U
  void* c = nullptr;       // V^H, min(m, n) x n
  bool a_by_rows = false, b_by_rows = false, c_by_rows = false;
  void* work = nullptr;         // lane_work_bytes(shape), aligned to 64 bytes
  int* pivots = nullptr;        // pivots[i * slots + slot], counted from 1; null if nobody wants them
  int* info = nullptr;          // one per slot, as LAPACK's
  const void* alpha = nullptr;  // trsm: one element for all problems
  // The determinant, tau, eigenvalues or singular values: value i of a slot is element i * slots + slot, of
  // complex type too if the values are real.
  void* values = nullptr;
};

// True if the kernel writes the inverse to b.
constexpr bool makes_inverse(Routine routine) { return routine == Routine::inv || routine == Routine::getri; }

using LaneKernel = void (*)(const LaneShape& shape, const LaneGroup& group);

// Problems in one vector on this machine.
std::int64_t lane_slots(DType dtype);
// Returns the kernel of a routine; null if there is none. Any thread may use it.
LaneKernel find_lane_kernel(const LaneShape& shape);
// Bytes of work memory for one vector of problems, which all vectors of a group use in turn.
std::int64_t lane_work_bytes(const LaneShape& shape);

// One file per kind of factorization.
LaneKernel find_cholesky_kernel(const LaneShape& shape);
LaneKernel find_lu_kernel(const LaneShape& shape);
LaneKernel find_triangular_kernel(const LaneShape& shape);
LaneKernel find_qr_kernel(const LaneShape& shape);
LaneKernel find_jacobi_kernel(const LaneShape& shape);

}  // namespace tilewright
