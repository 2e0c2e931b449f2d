// Kernels of iterative refinement: magnitudes, componentwise backward error, the stop test, and the step
// (LAPACK xGERFS).
#pragma once

#include "kernel/common/element.cuh"
#include "kernel/lu_rows/config.hpp"

namespace tilewright {

template <class R>
__device__ __forceinline__ R magnitude_1(R x) {
  return x < 0 ? -x : x;
}
template <class R>
__device__ __forceinline__ R magnitude_1(Complex<R> x) {
  return magnitude_1(x.re) + magnitude_1(x.im);
}

template <class R>
__device__ __forceinline__ void add_to(R& sum, R x) {
  sum += x;
}
template <class R>
__device__ __forceinline__ void add_to(Complex<R>& sum, Complex<R> x) {
  sum.re += x.re;
  sum.im += x.im;
}

// A block has runs of rows of one column after the other.
template <class T, class R>
__global__ void __launch_bounds__(lu_rows_threads) lu_magnitudes(const LuMagnitudesArgs<T, R> args) {
  const long long runs = (args.rows + lu_rows_threads - 1) / lu_rows_threads;
  for (long long i = blockIdx.x; i < runs * args.columns; i += gridDim.x) {
    const long long row = i % runs * lu_rows_threads + threadIdx.x, column = i / runs;
    if (row < args.rows)
      args.to[row + column * args.to_ld] = magnitude_1(args.from[row + column * args.from_ld]);
  }
}

// Nonnegative numbers compare as their bits do; NaN is above all.
__device__ __forceinline__ unsigned long long bits_of(double x) {
  return static_cast<unsigned long long>(__double_as_longlong(x)) & 0x7fffffffffffffffull;
}

template <class T, class R>
__global__ void __launch_bounds__(lu_rows_threads) lu_backward_error(const LuBackwardErrorArgs<T, R> args) {
  extern __shared__ __align__(16) unsigned char shared[];
  unsigned long long& worst = *reinterpret_cast<unsigned long long*>(shared);
  const long long runs = (args.n + lu_rows_threads - 1) / lu_rows_threads;
  for (long long i = blockIdx.x; i < runs * args.columns; i += gridDim.x) {
    const long long row = i % runs * lu_rows_threads + threadIdx.x, column = i / runs;
    if (threadIdx.x == 0) worst = 0;
    __syncthreads();
    if (row < args.n && args.progress[column].is_active) {
      const R r = magnitude_1(args.r[row + column * args.n]), bound = args.bound[row + column * args.n];
      const R ratio = bound > args.safe2 ? r / bound : (r + args.safe1) / (bound + args.safe1);
      atomicMax(&worst, bits_of(static_cast<double>(ratio)));
    }
    __syncthreads();
    if (threadIdx.x == 0 && worst != 0)
      atomicMax(reinterpret_cast<unsigned long long*>(&args.progress[column].now), worst);
  }
}

template <class T>
__global__ void __launch_bounds__(lu_rows_threads) lu_go_on(const LuGoOnArgs args) {
  const long long column = static_cast<long long>(blockIdx.x) * lu_rows_threads + threadIdx.x;
  if (column >= args.columns) return;
  LuRefined& one = args.progress[column];
  if (!one.is_active) return;
  args.errors[column] = one.now;
  one.is_active = one.now > args.eps && 2 * one.now <= one.last;
  one.last = one.now;
  one.now = 0;
}

template <class T>
__global__ void __launch_bounds__(lu_rows_threads) lu_improve(const LuImproveArgs<T> args) {
  const long long runs = (args.n + lu_rows_threads - 1) / lu_rows_threads;
  for (long long i = blockIdx.x; i < runs * args.columns; i += gridDim.x) {
    const long long row = i % runs * lu_rows_threads + threadIdx.x, column = i / runs;
    if (row < args.n && args.progress[column].is_active)
      add_to(args.x[row + column * args.x_ld], args.r[row + column * args.n]);
  }
}

}  // namespace tilewright
