// The inverse of a triangle of up to 512 rows, which turns its solves into products.
#pragma once

#include "kernel/common/element.cuh"
#include "kernel/lu_panel/device.cuh"
#include "kernel/lu_panel/pivot.cuh"
#include "kernel/lu_rows/config.hpp"

namespace tilewright {

template <class T>
__device__ __forceinline__ T lane_value(const T& value, int lane) {
  unsigned words[sizeof(T) / 4];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int w = 0; w < int(sizeof(T) / 4); ++w) words[w] = word_of_lane(words[w], lane);
  T result;
  memcpy(&result, words, sizeof(T));
  return result;
}

// An upper triangle is inverted as its transpose.
enum class LuTriangle { unit_lower, upper };

template <class T>
struct LuInverted {
  const T* triangle;
  long long ld;
  int n;
  T* inverse;  // n x n, all elements written
};

// Inverts columns from group * warps on: a warp has a column, a lane every 32nd row. The triangle is loaded a
// few columns at a time, the next ones ahead. Returns whether all elements that this thread wrote are finite.
template <int Parts, LuTriangle Kind, class T>
__device__ bool lu_invert(const LuInverted<T>& what, int group, T* triangle) {
  constexpr bool is_upper = Kind == LuTriangle::upper;
  constexpr int warps = lu_rows_threads / 32, height = 32 * Parts, columns = lu_close_columns(height);
  constexpr int each = height * columns / lu_rows_threads;
  const int lane = threadIdx.x % 32, first = group * warps;
  const int column = first + static_cast<int>(threadIdx.x) / 32, start = first / columns * columns;
  T next[each];
  const auto fetch = [&](int begin) {
#pragma unroll
    for (int e = 0; e < each; ++e) {
      const int i = threadIdx.x + e * lu_rows_threads;
      const int row = is_upper ? i / columns : i % height;
      const int known = begin + (is_upper ? i % columns : i / height);
      next[e] = zero<T>();
      if (row < what.n && row > known)
        next[e] = is_upper ? what.triangle[known + row * what.ld] : what.triangle[row + known * what.ld];
      if (is_upper && row == known) next[e] = row < what.n ? what.triangle[known + row * what.ld] : one<T>();
    }
  };
  fetch(start);
  T x[Parts];
#pragma unroll
  for (int p = 0; p < Parts; ++p) {
    x[p] = zero<T>();
    if (lane + 32 * p == column) x[p] = one<T>();
  }
#pragma unroll
  for (int part = 0; part < Parts; ++part)
    for (int begin = 32 * part; begin < 32 * part + 32; begin += columns) {
      if (begin < start || begin >= what.n) continue;
      __syncthreads();
#pragma unroll
      for (int e = 0; e < each; ++e) {
        const int i = threadIdx.x + e * lu_rows_threads;
        triangle[is_upper ? i % columns * height + i / columns : i] = next[e];
      }
      __syncthreads();
      fetch(begin + columns);
#pragma unroll
      for (int k = 0; k < columns; ++k) {
        const int row = begin + k;
        T known = lane_value(x[part], row - 32 * part);
        if constexpr (is_upper) {
          // A zero stays zero, whatever the divisor.
          if (row >= column) known = lu_quotient(known, triangle[k * height + row]);
          if (lane == row - 32 * part) x[part] = known;
        }
#pragma unroll
        for (int p = part; p < Parts; ++p)
          if (!is_upper || lane + 32 * p > row)
            multiply_subtract(x[p], triangle[k * height + lane + 32 * p], known);
      }
    }
  bool all_finite = true;
#pragma unroll
  for (int p = 0; p < Parts; ++p) {
    const int row = lane + 32 * p;
    if (column >= what.n || row >= what.n) continue;
    what.inverse[is_upper ? column + static_cast<long long>(row) * what.n
                          : row + static_cast<long long>(column) * what.n] = x[p];
    all_finite = all_finite && is_finite(x[p]);
  }
  return all_finite;
}

}  // namespace tilewright
