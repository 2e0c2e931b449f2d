// Factorizations of a panel that lies by columns in shared memory, by a block of threads: each thread has
// every threads-th row. Columns are eliminated one by one within groups of few, and the group at once from
// the columns behind it, so that most elements pass between shared memory and registers once a group.
#pragma once

#include "kernel/factor_gpu_large/view.cuh"

namespace tilewright {

// Messages of threads about pivots, in shared memory: two of each, used in turn, so that one meeting of the
// threads is enough.
template <class T, int Warps>
struct FactorLargePivots {
  using Bits = decltype(pivot_bits(T{}));
  Bits* bits;    // 2 * Warps
  int* numbers;  // 2 * Warps
  static constexpr int nowhere = 1 << 30;

  // Returns the first of the largest elements of column[k, rows).
  template <int Threads>
  __device__ __forceinline__ int find(const T* column, int k, int rows) const {
    Bits most = pivot_bits(zero<T>());
    int at = nowhere;
    const int thread = threadIdx.x;
    for (int i = thread < k ? thread + Threads : thread; i < rows; i += Threads) {
      const Bits one = pivot_bits(column[i]);
      if (one > most || (one == most && i < at)) most = one, at = i;
    }
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const Bits one = lane_exchange(most, distance);
      const int other = int(lane_exchange(unsigned(at), distance));
      if (one > most || (one == most && other < at)) most = one, at = other;
    }
    const int turn = k % 2 * Warps;
    if (thread % 32 == 0) bits[turn + thread / 32] = most, numbers[turn + thread / 32] = at;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < Warps; ++w) {
      const Bits one = bits[turn + w];
      const int other = numbers[turn + w];
      if (one > most || (one == most && other < at)) most = one, at = other;
    }
    return at;
  }
};

// A panel of rows x width; element (i, c) at p[c * pitch + i].
template <class T, int Threads>
struct FactorLargePanel {
  static constexpr int inner = factor_large_inner;
  T* p;
  int pitch, rows, width;

  __device__ __forceinline__ int first_row_from(int k) const {
    const int thread = threadIdx.x;
    return thread < k ? thread + Threads : thread;
  }

  __device__ __forceinline__ void exchange(int k, int other) const {
    for (int c = threadIdx.x; c < width; c += Threads) {
      const T kept = p[c * pitch + k];
      p[c * pitch + k] = p[c * pitch + other];
      p[c * pitch + other] = kept;
    }
  }

  // Subtracts from columns [end, width), rows `end` and below, what columns [begin, end) of L and their rows
  // of U make of them.
  __device__ __forceinline__ void subtract(int begin, int end) const {
    for (int i = first_row_from(end); i < rows; i += Threads) {
      T l[inner];
#pragma unroll
      for (int k = 0; k < inner; ++k)
        l[k] = begin + k < end ? negative(p[(begin + k) * pitch + i]) : zero<T>();
      for (int c = end; c < width; ++c) {
        T sum = p[c * pitch + i];
#pragma unroll
        for (int k = 0; k < inner; ++k)
          if (begin + k < end) multiply_add(sum, l[k], p[c * pitch + begin + k]);
        p[c * pitch + i] = sum;
      }
    }
  }

  // The rows [begin, end) of U in the columns from `end` on, each column by one thread.
  __device__ __forceinline__ void solve_rows(int begin, int end) const {
    for (int c = end + threadIdx.x; c < width; c += Threads) {
      T u[inner];
#pragma unroll
      for (int k = 0; k < inner; ++k) {
        if (begin + k >= end) break;
        u[k] = p[c * pitch + begin + k];
#pragma unroll
        for (int before = 0; before < k; ++before)
          multiply_add(u[k], negative(p[(begin + before) * pitch + begin + k]), u[before]);
        p[c * pitch + begin + k] = u[k];
      }
    }
  }

  // P A = L U. Pivots, which count from 0 and from the panel's first row, go to `swaps`; returns 0, or the
  // number of the first column without pivot. That column stays as it is, as LAPACK leaves it.
  template <bool Pivots, class Find>
  __device__ __forceinline__ int lu(Find find, int* swaps, bool& is_odd) const {
    int info = 0;
    for (int begin = 0; begin < width; begin += inner) {
      const int end = begin + inner < width ? begin + inner : width;
      for (int k = begin; k < end; ++k) {
        if constexpr (Pivots) {
          const int other = find(p + k * pitch, k);
          if (threadIdx.x == 0) swaps[k] = other;
          if (other != k) exchange(k, other), is_odd = !is_odd;
        }
        __syncthreads();
        const T pivot = p[k * pitch + k];
        const bool is_none = is_zero(pivot);
        if (is_none && info == 0) info = k + 1;
        const FactorGpuInverse<T> inverse(is_none ? from_real<T>(1) : pivot);
        for (int i = first_row_from(k + 1); i < rows; i += Threads) {
          const T factor = inverse.times(p[k * pitch + i]), negated = negative(factor);
          p[k * pitch + i] = factor;
          for (int c = k + 1; c < end; ++c) multiply_add(p[c * pitch + i], negated, p[c * pitch + k]);
        }
      }
      if (end == width) break;
      __syncthreads();
      solve_rows(begin, end);
      __syncthreads();
      subtract(begin, end);
    }
    return info;
  }

  // A = L L^H of the panel's first `width` rows, by a warp; the inverses of the diagonal go to `inverses`.
  // Only the lower triangle is touched. Returns 0, or the order of the first leading minor that is not
  // positive.
  template <class R>
  __device__ __forceinline__ int cholesky(R* inverses) const {
    const int lane = threadIdx.x % 32;
    int info = 0;
    for (int begin = 0; begin < width; begin += inner) {
      const int end = begin + inner < width ? begin + inner : width;
      T row[inner];
#pragma unroll
      for (int c = 0; c < inner; ++c)
        row[c] =
            begin + c < end && lane >= begin + c && lane < width ? p[(begin + c) * pitch + lane] : zero<T>();
#pragma unroll
      for (int c = 0; c < inner; ++c) {
        const int k = begin + c;
        if (k >= end) break;
        const R d = real_part(value_of_lane(row[c], k));
        if (!(d > 0) && info == 0) info = k + 1;
        const R inverse = inverse_root(d);
        row[c] = times_real(row[c], inverse);
        if (lane == k) row[c] = from_real<T>(root_of(d, inverse)), inverses[k] = inverse;
        const T negated = negative(row[c]);
#pragma unroll
        for (int other = c + 1; other < inner; ++other)
          multiply_add(row[other], negated, conjugate_if<true>(value_of_lane(row[c], begin + other)));
      }
#pragma unroll
      for (int c = 0; c < inner; ++c)
        if (begin + c < end && lane >= begin + c && lane < width) p[(begin + c) * pitch + lane] = row[c];
      __syncwarp();
      for (int c = end; c < width; ++c) {
        if (lane < c || lane >= width) continue;
        T sum = p[c * pitch + lane];
#pragma unroll
        for (int k = 0; k < inner; ++k)
          multiply_add(sum, negative(row[k]), conjugate_if<true>(p[(begin + k) * pitch + c]));
        p[c * pitch + lane] = sum;
      }
      __syncwarp();
    }
    return info;
  }

  // The rows of L below, each by one thread.
  template <class R>
  __device__ __forceinline__ void solve_below(const R* inverses) const {
    for (int i = width + threadIdx.x; i < rows; i += Threads)
      for (int begin = 0; begin < width; begin += inner) {
        T x[inner];
#pragma unroll
        for (int c = 0; c < inner; ++c) x[c] = begin + c < width ? p[(begin + c) * pitch + i] : zero<T>();
        for (int k = 0; k < begin; ++k) {
          const T left = negative(p[k * pitch + i]);
#pragma unroll
          for (int c = 0; c < inner; ++c)
            if (begin + c < width) multiply_add(x[c], left, conjugate_if<true>(p[k * pitch + begin + c]));
        }
#pragma unroll
        for (int c = 0; c < inner; ++c) {
          if (begin + c >= width) break;
          x[c] = times_real(x[c], inverses[begin + c]);
          p[(begin + c) * pitch + i] = x[c];
          const T left = negative(x[c]);
#pragma unroll
          for (int other = c + 1; other < inner; ++other)
            if (begin + other < width)
              multiply_add(x[other], left, conjugate_if<true>(p[(begin + c) * pitch + begin + other]));
        }
      }
  }
};

}  // namespace tilewright
