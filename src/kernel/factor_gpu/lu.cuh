// P A = L U of a matrix by a group of lanes. The factors lie in shared memory by rows, in their final order.
// Rows stay in their lanes; each knows its place among the rows of the result, and what shared memory holds
// of rows that change places is exchanged.
#pragma once

#include "kernel/factor_gpu/rows.cuh"

namespace tilewright {

template <class T, FactorGpuShape S, FactorGpuConfig C>
struct FactorGpuLu : FactorGpuRows<T, S, C> {
  using Rows = FactorGpuRows<T, S, C>;
  using Rows::lanes, Rows::n, Rows::pitch, Rows::row, Rows::rows, Rows::sync;
  static constexpr int nowhere = 1 << 20;

  T* lu;
  int* pivots;  // null if nobody asks for them
  int lane, info = 0;
  bool is_odd = false;  // the number of exchanges
  int place[rows];      // -1: no row

  // Returns the place of the first of the largest elements in the column that begins the rows; is_zero says
  // that it is 0.
  template <int v>
  __device__ __forceinline__ int pivot(int k, bool& no_pivot) const {
    auto most = pivot_bits(zero<T>());
    int at = nowhere;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const auto bits = pivot_bits(row[r][v]);
      const bool better = bits > most || (bits == most && place[r] < at);
      if (place[r] >= k && better) most = bits, at = place[r];
    }
#pragma unroll
    for (int distance = 1; distance < lanes; distance *= 2) {
      const auto bits = lane_exchange(most, distance);
      const int other = int(lane_exchange(unsigned(at), distance));
      if (bits > most || (bits == most && other < at)) most = bits, at = other;
    }
    no_pivot = most == 0;
    return at;
  }

  // Exchanges rows k and p, k < p, of what shared memory holds.
  __device__ __forceinline__ void exchange(int k, int p) {
    for (int j = lane; j < k; j += lanes) {
      const T kept = lu[k * pitch + j];
      lu[k * pitch + j] = lu[p * pitch + j];
      lu[p * pitch + j] = kept;
    }
    is_odd = !is_odd;
  }

  template <int v, int Width>
  __device__ __forceinline__ void column(int first) {
    const int k = first + v;
    bool no_pivot = false;
    int p = k;
    if constexpr (S.method == FactorGpuMethod::lu) p = pivot<v>(k, no_pivot);
    if (S.exchanges && lane == 0) pivots[k] = p + 1;
    sync();
    if (p != k) exchange(k, p);
    T u[n];
    bool is_mine = false;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const bool is_pivot = place[r] == p;
#pragma unroll
      for (int j = v; j < Width; ++j) u[j] = r == 0 || is_pivot ? row[r][j] : u[j];
      is_mine = is_mine || is_pivot;
      place[r] = is_pivot ? k : place[r] == k ? p : place[r];
    }
    T* const line = lu + k * pitch + first;
    if (is_mine) Rows::template put<v, Width>(line, u, n - first);
    if constexpr (lanes > 1) {
      sync();
      Rows::template get<v, Width>(u, line);
    }
    if constexpr (S.method != FactorGpuMethod::lu) no_pivot = is_zero(u[v]);
    if (no_pivot && info == 0) info = k + 1;
    eliminate<v, Width>(k, u, no_pivot);
  }

  // If the pivot is 0 the column stays as it is, as LAPACK leaves it.
  template <int v, int Width>
  __device__ __forceinline__ void eliminate(int k, const T (&u)[n], bool no_pivot) {
    const FactorGpuInverse<T> inverse(u[v]);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (place[r] <= k) continue;
      const T factor = no_pivot ? row[r][v] : inverse.times(row[r][v]);
      lu[place[r] * pitch + k] = factor;
      const T negated = negative(factor);
#pragma unroll
      for (int j = v + 1; j < Width; ++j) multiply_add(row[r][j], negated, u[j]);
    }
  }

  // Returns 0, or the number of the first zero on the diagonal of U.
  __device__ __forceinline__ int factor() {
    Rows::load(lu, lane);
#pragma unroll
    for (int r = 0; r < rows; ++r) place[r] = lane + lanes * r < n ? lane + lanes * r : -1;
    Rows::template each_column<0>(*this);
    sync();
    return info;
  }
};

}  // namespace tilewright
