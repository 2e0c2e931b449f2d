// C = beta C on the GPU, for alpha = 0 or k = 0. With Zero it writes zeros and never reads C. Packed matrices
// are one run of elements.
#pragma once

#include "kernel/common/element.cuh"
#include "kernel/scale/config.hpp"

namespace tilewright {

template <class T, bool Zero, bool Packed>
__global__ void __launch_bounds__(256) gpu_scale(const GpuScaleArgs<T> args) {
  const long long elements = args.m * args.n, total = elements * args.count;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long e = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; e < total; e += step) {
    long long at = e;
    if constexpr (!Packed) {
      const long long inside = e % elements;
      at = e / elements * args.stride_c + inside / args.m * args.ldc + inside % args.m;
    }
    T value = zero<T>();
    if constexpr (!Zero) multiply_add(value, args.beta, args.c[at]);
    args.c[at] = value;
  }
}

}  // namespace tilewright
