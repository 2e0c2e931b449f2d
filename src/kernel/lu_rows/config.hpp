// What launches of the kernels beside the LU panel pass, read by the host compiler and by NVRTC alike.
#pragma once

namespace tilewright {

// Rows move within columns as lists of an LU panel say (kernel/lu_panel/config.hpp), one list after the
// other; list i counts rows from i * rows_apart on. `of_own_block`: the columns are those that the lists'
// panels come from, each rows_apart wide, and only what later panels moved is moved in them.
template <class T>
struct LuSwapArgs {
  T* a;
  long long ld, columns;
  const int* moves;
  int lists, list_ints, rows_apart;
  bool of_own_block;
};

// B becomes inv(L) P B: rows of B move, then its first n rows are solved for; L is n x n, lower with a unit
// diagonal, n at most 32.
template <class T>
struct LuSolveArgs {
  T* b;
  long long ld, columns;
  const T* l;
  long long l_ld;
  int n;
  const int* moves;
};

// Rows move within columns as one list says that lu_close() made of several.
template <class T>
struct LuMoveArgs {
  T* a;
  long long ld, columns;
  const int* moves;
};

// What is done once with a block of panels: inverse = inv(L) of its n x n triangle with a unit diagonal, all
// n x n elements written; and one list of what its lists come to, of m rows.
template <class T>
struct LuCloseArgs {
  const T* l;
  long long ld;
  T* inverse;
  int n, m;
  const int* moves;
  int lists, list_ints, rows_apart;
  int* merged;
  int* origin;  // m ints of scratch; null: shared memory has room for them
};

// Of systems: order[i] is the row that the swaps bring to row i.
struct LuOrderArgs {
  const long long* pivots;  // counted from 1
  int n;
  int* order;  // n ints; the work is done there where shared memory has no room
  bool in_shared;
};

// Row i of `to` is row order[i] of `from`, or with `back` the reverse. The two do not overlap.
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

// The inverses of the triangles on the diagonal of an LU, nb x nb each but the last: those of L, then those
// of U. must_divide receives a number for each group of columns of each block of U (lu_inverse_groups): not 0
// where a pivot has no reciprocal, or the inverse has elements that are not finite.
template <class T>
struct LuInvertArgs {
  const T* lu;
  long long ld;
  int n, nb;
  T* inverses;
  int* must_divide;
};

// op(U) X = B for a triangle of at most 256 rows, by substitution, where one of `groups` numbers is not 0;
// else nothing. op: 0 none, 1 transposed, 2 conjugated as well.
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

// Of iterative refinement; R is the real type of T's parts. |from|, of complex numbers |re| + |im|.
template <class T, class R>
struct LuMagnitudesArgs {
  const T* from;
  long long from_ld;
  R* to;
  long long to_ld, rows, columns;
};

// A column's progress: the error seen now (0 before it is looked for) and last, whether x is still improved.
struct LuRefined {
  double now, last;
  int is_active;
};

// now = max |r_i| / bound_i of each active column, both n x columns without gaps, raised by what rounding
// makes of them where the bound may be nothing else (LAPACK xGERFS).
template <class T, class R>
struct LuBackwardErrorArgs {
  const T* r;
  const R* bound;
  int n;
  long long columns;
  LuRefined* progress;
  R safe1, safe2;
};

// Whether each column goes on: the error is above eps and was halved. errors receives those of active ones.
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

constexpr int lu_copied_columns = 4;  // at once

// rows x columns elements.
template <class T>
struct LuCopyArgs {
  const T* from;
  long long from_ld;
  T* to;
  long long to_ld, rows, columns;
};

constexpr int lu_rows_threads = 256;
// Of lu_invert_diagonal: a block of threads has as many columns as it has warps.
constexpr int lu_inverse_groups(int nb) { return (nb + lu_rows_threads / 32 - 1) / (lu_rows_threads / 32); }
// A list that lu_close() makes moves so many rows at most, of blocks of 512 columns.
constexpr int lu_most_moves = 1024;
// Rows of the triangle as lu_close() pads them, the columns that it has in shared memory at once, and the
// bytes of either those or a number for each row.
constexpr int lu_close_height(int n) {
  return n <= 32 ? 32 : n <= 64 ? 64 : n <= 128 ? 128 : n <= 256 ? 256 : 512;
}
constexpr int lu_close_columns(int height) { return height <= 256 ? 16 : 8; }
constexpr int lu_triangle_bytes(int n, int element_bytes) {
  return lu_close_height(n) * lu_close_columns(lu_close_height(n)) * element_bytes;
}
constexpr int lu_origin_bytes(int rows) { return rows * 4; }
// Of the triangle of lu_solve.
constexpr int lu_solve_shared_bytes(int element_bytes) { return 32 * 32 * element_bytes; }

}  // namespace tilewright
