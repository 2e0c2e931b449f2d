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
};

// rows x columns elements.
template <class T>
struct LuCopyArgs {
  const T* from;
  long long from_ld;
  T* to;
  long long to_ld, rows, columns;
};

constexpr int lu_rows_threads = 256;
// A list that lu_close() makes moves so many rows at most, of blocks of 512 columns.
constexpr int lu_most_moves = 1024;
// Columns of the triangle that lu_close() has in shared memory at once, or a number for each row.
constexpr int lu_close_columns = 16;
constexpr int lu_close_shared_bytes(int n, int m, int element_bytes) {
  const int triangle = n * lu_close_columns * element_bytes, rows = m * 4;
  return triangle > rows ? triangle : rows;
}
// Of the triangle of lu_solve.
constexpr int lu_solve_shared_bytes(int element_bytes) { return 32 * 32 * element_bytes; }

}  // namespace tilewright
