// The kernel of products with one long side: the shape and the tile that it is compiled for, its shared
// memory, and its launch arguments. For the host compiler and NVRTC; holds no device code.
#pragma once

#ifndef __CUDACC_RTC__
#include "core/fields.hpp"
#endif

namespace tilewright {

// Y(i, j) = alpha * sum over l of X(i, l) W(l, j) + beta Y(i, j). Points i lie along the long side; k and n
// are small. If m is long, X = op(A), W = op(B) and Y = C; if n is long, all three are transposed.
struct GemmThinShape {
  int k = 1;
  int n = 1;
  bool x_by_points = false;  // the elements of a point are neighbours; else equal elements of all points are
  bool y_by_points = false;
  bool conj_x = false;
  bool conj_w = false;
  bool unit_alpha = true;  // alpha is 1
  bool unit_beta = false;  // beta is 1
  bool reads_y = true;     // beta may differ from 0
  // Vectors of 16 bytes of X lie at multiples of that: along its columns, or within the points or the run of
  // all points. Y is stored element by element: vectors gained little at 4 bytes and lost a fifth at 8
  // (H200).
  bool vector_x = false;

  friend constexpr bool operator==(const GemmThinShape&, const GemmThinShape&) = default;
};

// A block holds `points` points; each thread forms `rows` of them in `columns` columns of Y.
struct GemmThinConfig {
  int points = 128;
  int rows = 1;
  int columns = 8;

  friend constexpr bool operator==(const GemmThinConfig&, const GemmThinConfig&) = default;
};

constexpr int gemm_thin_groups(const GemmThinShape& s, const GemmThinConfig& c) {
  return (s.n + c.columns - 1) / c.columns;
}
constexpr int gemm_thin_threads(const GemmThinShape& s, const GemmThinConfig& c) {
  return c.points / c.rows * gemm_thin_groups(s, c);
}

inline constexpr int gemm_thin_vector_bytes = 16;
// The distance of points in shared memory that avoids bank conflicts: an odd number of elements, or of
// vectors if `in_vectors` says that these are read whole.
constexpr int gemm_thin_distance(int elements, bool in_vectors = false, int element_bytes = 1) {
  const int unit = in_vectors ? gemm_thin_vector_bytes / element_bytes : 1;
  return (elements / unit | 1) * unit;
}
// True if the elements of a point are whole vectors, in both memories.
constexpr bool gemm_thin_x_in_vectors(const GemmThinShape& s, int element_bytes) {
  return s.x_by_points && s.vector_x && s.k * element_bytes % gemm_thin_vector_bytes == 0;
}
constexpr int gemm_thin_x_elements(const GemmThinShape& s, const GemmThinConfig& c, int element_bytes) {
  const bool in_vectors = gemm_thin_x_in_vectors(s, element_bytes);
  return c.points * (s.x_by_points ? gemm_thin_distance(s.k, in_vectors, element_bytes) : s.k);
}
constexpr int gemm_thin_y_elements(const GemmThinShape& s, const GemmThinConfig& c) {
  return s.y_by_points ? c.points * gemm_thin_distance(s.n) : 0;
}
// In whole vectors, so that X is aligned behind it.
constexpr int gemm_thin_w_elements(const GemmThinShape& s, const GemmThinConfig& c) {
  return (s.k * gemm_thin_groups(s, c) * c.columns + 3) / 4 * 4;
}
// W first, whose vectors are aligned; then two tiles of X, and one of Y.
constexpr int gemm_thin_shared_bytes(const GemmThinShape& s, const GemmThinConfig& c, int element_bytes) {
  return (gemm_thin_w_elements(s, c) + 2 * gemm_thin_x_elements(s, c, element_bytes) +
          gemm_thin_y_elements(s, c)) *
         element_bytes;
}

// Addresses, strides and leading dimensions in elements. W(l, j) lies at l * w_k + j * w_n.
template <class T>
struct alignas(16) GemmThinArgs {
  T alpha, beta;  // first, so that the alignment of host and device complex numbers makes no difference
  const T* x;
  const T* w;
  T* y;
  long long points, count;  // of a product, and products of the batch
  long long ld_x, ld_y, w_k, w_n;
  long long stride_x, stride_w, stride_y;
};

#ifndef __CUDACC_RTC__
TILEWRIGHT_FIELDS(GemmThinShape, k, n, x_by_points, y_by_points, conj_x, conj_w, unit_alpha, unit_beta,
                  reads_y, vector_x);
TILEWRIGHT_FIELDS(GemmThinConfig, points, rows, columns);
#endif

}  // namespace tilewright
