// Adds up the parts of one sum of products, always in the same order. C is not read if beta is zero.
#pragma once

#include "kernel/common/element.cuh"
#include "kernel/gemm_small/total_config.hpp"

namespace tilewright {

template <class T>
__device__ __forceinline__ void add_to(T& sum, T value) {
  sum += value;
}
template <class R>
__device__ __forceinline__ void add_to(Complex<R>& sum, Complex<R> value) {
  sum.re += value.re;
  sum.im += value.im;
}

template <class T>
__global__ void __launch_bounds__(gemm_small_total_elements* gemm_small_total_shares)
    gemm_small_total(const GemmSmallTotalArgs<T> args) {
  extern __shared__ __align__(128) unsigned char shared[];
  T* const sums = reinterpret_cast<T*>(shared);
  constexpr int together = gemm_small_total_elements, shares = gemm_small_total_shares;
  const int share = threadIdx.x / together;
  const long long elements = args.m * args.n;
  const long long e = static_cast<long long>(blockIdx.x) * together + threadIdx.x % together;
  T sum = zero<T>();
  if (e < elements)
    for (long long part = share; part < args.part_count; part += shares)
      add_to(sum, args.parts[part * elements + e]);
  sums[threadIdx.x] = sum;
  for (int half = shares / 2; half > 0; half /= 2) {
    __syncthreads();
    if (share < half) add_to(sums[threadIdx.x], sums[threadIdx.x + half * together]);
  }
  if (share > 0 || e >= elements) return;
  T* const c = (args.c == nullptr ? *args.c_at : args.c) + e / args.m * args.ldc + e % args.m;
  T value = zero<T>();
  multiply_add(value, args.alpha, sums[threadIdx.x]);
  if (args.reads_c) multiply_add(value, args.beta, *c);
  *c = value;
}

}  // namespace tilewright
