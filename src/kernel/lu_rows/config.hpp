// Launch arguments of the LU kernels beside the panel, for the host compiler and NVRTC.
#pragma once

namespace tilewright {

// Moves rows within columns by lists of LU panels (kernel/lu_panel/config.hpp), in order; list i counts rows
// from i * rows_apart on. `of_own_block`: the columns are the panels' own, each rows_apart wide, and get the
// moves of later panels only.
template <class T>
struct LuSwapArgs {
  T* a;
  long long ld, columns;
  const int* moves;
  int lists, list_ints, rows_apart;
  bool of_own_block;
};

// B = inv(L) P B: moves rows of B, then solves for its first n rows; L is n x n, unit lower, n at most 32.
template <class T>
struct LuSolveArgs {
  T* b;
  long long ld, columns;
  const T* l;
  long long l_ld;
  int n;
  const int* moves;
};

// Moves rows within columns by one list that lu_close() merged.
template <class T>
struct LuMoveArgs {
  T* a;
  long long ld, columns;
  const int* moves;
};

// Closes a block of panels: inverse = inv(L) of its n x n unit triangle, all elements written, and one merged
// list of its moves of m rows.
template <class T>
struct LuCloseArgs {
  const T* l;
  long long ld;
  T* inverse;
  int n, m;
  const int* moves;
  int lists, list_ints, rows_apart;
  int* merged;
  int* origin;  // m ints of scratch; null if shared memory has room for them
};

// Computes order[i], the row that the swaps bring to row i.
struct LuOrderArgs {
  const long long* pivots;  // counted from 1
  int n;
  int* order;  // n ints; used as scratch if shared memory has no room
  bool in_shared;
};

// Copies row order[i] of `from` to row i of `to`, or with `back` the reverse. They must not overlap.
template <class T>
struct LuTakeArgs {
  const T* from;
  long long from_ld;
  T* to;
  long long to_ld, columns;
  const int* order;
  int n;
  bool back;
};

// Inverts the diagonal triangles of an LU, nb x nb each but the last: those of L, then of U. must_divide
// receives a number per group of columns of each block of U (lu_inverse_groups), not 0 if a pivot has no
// reciprocal or the inverse is not finite.
template <class T>
struct LuInvertArgs {
  const T* lu;
  long long ld;
  int n, nb;
  T* inverses;
  int* must_divide;
};

// Solves op(U) X = B for a triangle of at most 256 rows by substitution if one of `groups` numbers is not 0;
// else does nothing. op: 0 none, 1 transposed, 2 conjugate transposed.
template <class T>
struct LuDivideArgs {
  const T* u;
  long long ld;
  const T* b;
  long long b_ld;
  T* x;
  long long x_ld, columns;
  int n, op, groups;
  const int* must_divide;
};

// |from|, for complex numbers |re| + |im|. R is the real type of T's parts.
template <class T, class R>
struct LuMagnitudesArgs {
  const T* from;
  long long from_ld;
  R* to;
  long long to_ld, rows, columns;
};

// A column's progress: its current error (0 = not computed) and the last one, and whether x still improves.
struct LuRefined {
  double now, last;
  int is_active;
};

// now = max |r_i| / bound_i of each active column, both n x columns without gaps, with safe1 and safe2
// against bounds that may be rounding alone (LAPACK xGERFS).
template <class T, class R>
struct LuBackwardErrorArgs {
  const T* r;
  const R* bound;
  int n;
  long long columns;
  LuRefined* progress;
  R safe1, safe2;
};

// Decides which columns continue: the error is above eps and was halved. errors receives active ones'.
struct LuGoOnArgs {
  LuRefined* progress;
  double* errors;
  long long columns;
  double eps;
};

// x += r in the active columns.
template <class T>
struct LuImproveArgs {
  const T* r;  // n x columns without gaps
  T* x;
  long long x_ld;
  int n;
  long long columns;
  const LuRefined* progress;
};

constexpr int lu_copied_columns = 4;  // at a time

// rows x columns elements.
template <class T>
struct LuCopyArgs {
  const T* from;
  long long from_ld;
  T* to;
  long long to_ld, rows, columns;
};

constexpr int lu_rows_threads = 256;
// For lu_invert_diagonal: a block of threads has as many columns as warps.
constexpr int lu_inverse_groups(int nb) { return (nb + lu_rows_threads / 32 - 1) / (lu_rows_threads / 32); }
// The most moves of a list of lu_close(), for blocks of 512 columns.
constexpr int lu_most_moves = 1024;
// lu_close(): padded rows of the triangle, its columns in shared memory at once, and the bytes of these or of
// a number per row.
constexpr int lu_close_height(int n) {
  return n <= 32 ? 32 : n <= 64 ? 64 : n <= 128 ? 128 : n <= 256 ? 256 : 512;
}
constexpr int lu_close_columns(int height) { return height <= 256 ? 16 : 8; }
constexpr int lu_triangle_bytes(int n, int element_bytes) {
  return lu_close_height(n) * lu_close_columns(lu_close_height(n)) * element_bytes;
}
constexpr int lu_origin_bytes(int rows) { return rows * 4; }
constexpr int lu_solve_shared_bytes(int element_bytes) { return 32 * 32 * element_bytes; }

}  // namespace tilewright
