// Matrices as blocks of threads see them, and their passage between memories: a warp takes lines in turn, its
// lanes neighbours of a line.
#pragma once

#include "kernel/factor_gpu/arithmetic.cuh"
#include "kernel/factor_gpu/copy.cuh"
#include "kernel/factor_gpu_large/config.hpp"

namespace tilewright {

template <class T, bool ByRows, class Index>
struct FactorLargeView {
  static constexpr bool by_rows = ByRows;
  T* data;
  Index line, element;

  __device__ __forceinline__ T& at(int i, int j) const {
    return data[(ByRows ? i : j) * line + (ByRows ? j : i) * element];
  }
};
template <class T, FactorGpuPlace Where, bool ByRows>
__device__ __forceinline__ FactorLargeView<T, ByRows, long long> factor_large_view(
    const FactorGpuOperand<T>& x, long long problem) {
  return {factor_gpu_matrix<Where>(x, problem), x.line, x.element};
}

// Calls f(i, j) for the elements of a matrix of rows x cols, each in one thread.
template <bool ByRows, int Threads, class F>
__device__ __forceinline__ void factor_large_each(int rows, int cols, F f) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int lines = ByRows ? rows : cols, length = ByRows ? cols : rows;
  for (int line = warp; line < lines; line += Threads / 32)
    for (int e = lane; e < length; e += 32) f(ByRows ? line : e, ByRows ? e : line);
}

// The value of x in another lane of the warp.
template <class R>
__device__ __forceinline__ R value_of_lane(R x, int lane) {
  return lane_value(x, lane);
}
template <class R>
__device__ __forceinline__ Complex<R> value_of_lane(Complex<R> x, int lane) {
  return {lane_value(x.re, lane), lane_value(x.im, lane)};
}

}  // namespace tilewright
