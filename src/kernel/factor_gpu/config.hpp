// The kernel of small factorizations and solves on a GPU: the shape and the config that it is compiled for,
// the places in shared memory that follow from them, and its launch arguments. For the host compiler and
// NVRTC; holds no device code.
#pragma once

#ifndef __CUDACC_RTC__
#include "core/fields.hpp"
#endif

namespace tilewright {

// How A is factored; triangles are always lower ones, because the host exchanges the strides of upper ones.
enum class FactorGpuMethod : unsigned char { none, cholesky, lu, lu_without_pivots };
// The factors that the right sides are solved with: of A as it lies there, or as it was factored.
enum class FactorGpuSolve : unsigned char { none, triangle, cholesky, lu };
// How the matrices of a batch lie: at one distance, at addresses, or side by side in blocks of problems.
enum class FactorGpuPlace : unsigned char { strided, pointers, interleaved };
// Pieces that copies move: elements; vectors of 16 bytes within a line; or vectors anywhere in a batch that
// is one run of elements. A line is a column, or a row if rows are contiguous.
enum class FactorGpuPieces : unsigned char { elements, vectors, run };

inline constexpr int factor_gpu_vector_bytes = 16;
inline constexpr int factor_gpu_limit = 32;  // of rows and columns

// Operand A is n x n, B is n x nrhs; `by_rows` says that rows are the lines.
struct FactorGpuShape {
  int n = 1;
  int nrhs = 0;
  FactorGpuMethod method = FactorGpuMethod::none;
  FactorGpuSolve solve = FactorGpuSolve::none;
  bool trans = false;     // solves with the transposed A
  bool conj = false;      // of conjugated elements; in a Cholesky solve those of the first factor
  bool unit = false;      // the triangle's diagonal is 1
  bool scales = false;    // the right sides are multiplied by alpha first
  bool identity = false;  // the right sides are the columns of the identity, and are not read
  bool half = false;      // of the solution only the lower triangle is written
  bool writes_a = false;  // the factors are written
  bool writes_det = false;
  bool exchanges = false;        // pivots are read (solve) or written (method lu)
  bool checks_diagonal = false;  // a zero on A's diagonal is the problem's info
  bool a_by_rows = false;
  bool b_by_rows = false;
  FactorGpuPlace a_place = FactorGpuPlace::strided;
  FactorGpuPlace b_place = FactorGpuPlace::strided;
  FactorGpuPieces a_pieces = FactorGpuPieces::elements;
  FactorGpuPieces b_pieces = FactorGpuPieces::elements;

  friend constexpr bool operator==(const FactorGpuShape&, const FactorGpuShape&) = default;
};

struct FactorGpuConfig {
  int lanes = 1;   // threads of a warp that work on one matrix, each on every lanes-th row or right side
  int warps = 1;   // of a block
  int stages = 1;  // 2: blocks stay and load their next tile while they work on one
  int run = 0;  // columns that one loop factors, a multiple of 4: more columns make less code that does more
                // work; 0: no loop
  int blocks_per_sm = 1;  // a cap on registers
  // Matrices of a thread, which passes them between device memory and its registers; 0: through shared
  // memory.
  int direct = 0;

  friend constexpr bool operator==(const FactorGpuConfig&, const FactorGpuConfig&) = default;
};

constexpr int factor_gpu_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

// Where a matrix lies in shared memory: element f of line s at s * pitch + f, the next matrix at `distance`.
struct FactorGpuTile {
  int length = 0, lines = 0, pitch = 0, distance = 0;
};

// Lines and matrices lie odd numbers of vectors apart, which avoids bank conflicts, wherever pieces allow it.
constexpr FactorGpuTile factor_gpu_tile(int length, int lines, FactorGpuPieces pieces, int element_bytes) {
  constexpr int least_padded_bytes = 64;
  const int vector = factor_gpu_vector_bytes / element_bytes;
  FactorGpuTile t{length, lines, length, length * lines};
  const bool whole = length % vector == 0;
  if (whole && pieces != FactorGpuPieces::run && length * element_bytes >= least_padded_bytes)
    t.pitch = (length / vector | 1) * vector;
  const bool crosses = pieces == FactorGpuPieces::run && t.distance % vector != 0;  // matrices share vectors
  t.distance = crosses ? t.distance : (factor_gpu_up(t.pitch * lines, vector) / vector | 1) * vector;
  return t;
}
constexpr FactorGpuTile factor_gpu_tile_a(const FactorGpuShape& s, int element_bytes) {
  return factor_gpu_tile(s.n, s.n, s.a_pieces, element_bytes);
}
constexpr bool factor_gpu_has_b(const FactorGpuShape& s) { return s.solve != FactorGpuSolve::none; }
constexpr FactorGpuTile factor_gpu_tile_b(const FactorGpuShape& s, int element_bytes) {
  if (!factor_gpu_has_b(s)) return {};
  return s.b_by_rows ? factor_gpu_tile(s.nrhs, s.n, s.b_pieces, element_bytes)
                     : factor_gpu_tile(s.n, s.nrhs, s.b_pieces, element_bytes);
}

constexpr int factor_gpu_threads(const FactorGpuConfig& c) { return 32 * c.warps; }
constexpr int factor_gpu_matrices(const FactorGpuConfig& c) {
  return factor_gpu_threads(c) / c.lanes * (c.direct > 0 ? c.direct : 1);
}
// Matrices that a thread must move together: those of a run that begin and end with a whole vector.
constexpr int factor_gpu_together(const FactorGpuShape& s, int element_bytes) {
  int matrices = 1;
  while (s.a_pieces == FactorGpuPieces::run &&
         matrices * s.n * s.n * element_bytes % factor_gpu_vector_bytes != 0)
    matrices *= 2;
  return matrices;
}
// True if a kernel can do without shared memory: it factors, and does no more.
constexpr bool factor_gpu_may_go_directly(const FactorGpuShape& s) {
  return s.method != FactorGpuMethod::none && s.writes_a;
}
constexpr int factor_gpu_rows(const FactorGpuShape& s, const FactorGpuConfig& c) {
  return (s.n + c.lanes - 1) / c.lanes;
}
// True if a tile of matrices that are one run begins with a whole vector.
constexpr bool factor_gpu_begins_whole(const FactorGpuShape& s, const FactorGpuConfig& c, int element_bytes) {
  const bool a = s.a_pieces != FactorGpuPieces::run ||
                 factor_gpu_matrices(c) * s.n * s.n * element_bytes % factor_gpu_vector_bytes == 0;
  const bool b = s.b_pieces != FactorGpuPieces::run ||
                 factor_gpu_matrices(c) * s.n * s.nrhs * element_bytes % factor_gpu_vector_bytes == 0;
  return a && b;
}
// True if a row of A in shared memory begins with a whole vector.
constexpr bool factor_gpu_in_vectors(const FactorGpuShape& s, int element_bytes) {
  const FactorGpuTile a = factor_gpu_tile_a(s, element_bytes);
  return a.pitch * element_bytes % factor_gpu_vector_bytes == 0 &&
         a.distance * element_bytes % factor_gpu_vector_bytes == 0;
}

// Shared memory: the stages of A, those of B, and of each matrix the info, pivots and the order of its rows.
// Loops over columns read behind the last line.
struct FactorGpuMemory {
  int a_bytes = 0, b_bytes = 0;  // of a stage
  int ints = 0;                  // of a matrix
  int b = 0, integers = 0, total = 0;
};
constexpr FactorGpuMemory factor_gpu_memory(const FactorGpuShape& s, const FactorGpuConfig& c,
                                            int element_bytes) {
  const int matrices = factor_gpu_matrices(c);
  FactorGpuMemory m;
  if (c.direct > 0) return m;
  m.a_bytes = factor_gpu_up(matrices * factor_gpu_tile_a(s, element_bytes).distance * element_bytes, 16);
  m.b_bytes = factor_gpu_up(matrices * factor_gpu_tile_b(s, element_bytes).distance * element_bytes, 16);
  m.ints = 1 + (s.exchanges ? 2 * s.n : 0);
  m.b = c.stages * m.a_bytes;
  m.integers = m.b + c.stages * m.b_bytes;
  const int slack = c.run > 0 ? (c.run + 4) * element_bytes : 0;
  const int after = matrices * m.ints * int(sizeof(int));
  m.total = factor_gpu_up(m.integers + (after > slack ? after : slack), 16);
  return m;
}

// Distances count elements. Element f of line s of a matrix lies at s * line + f * element.
template <class T>
struct FactorGpuOperand {
  T* data;
  T* const* pointers;
  long long stride, line, element;
  long long block, block_stride;  // problems of a block, and its elements
};
template <class T>
struct alignas(16) FactorGpuArgs {
  T alpha;  // first, so that the alignment of host and device complex numbers makes no difference
  FactorGpuOperand<T> a, b;
  long long count;
  T* det;
  int* pivots;
  int* info;      // null: none
  int info_step;  // 0: one info for all problems, written by those that have one
};

#ifndef __CUDACC_RTC__
TILEWRIGHT_NAMES(FactorGpuMethod, "none", "cholesky", "lu", "lu_without_pivots");
TILEWRIGHT_NAMES(FactorGpuSolve, "none", "triangle", "cholesky", "lu");
TILEWRIGHT_NAMES(FactorGpuPlace, "strided", "pointers", "interleaved");
TILEWRIGHT_NAMES(FactorGpuPieces, "elements", "vectors", "run");
TILEWRIGHT_FIELDS(FactorGpuShape, n, nrhs, method, solve, trans, conj, unit, scales, identity, half, writes_a,
                  writes_det, exchanges, checks_diagonal, a_by_rows, b_by_rows, a_place, b_place, a_pieces,
                  b_pieces);
TILEWRIGHT_FIELDS(FactorGpuConfig, lanes, warps, stages, run, blocks_per_sm, direct);
#endif

}  // namespace tilewright
