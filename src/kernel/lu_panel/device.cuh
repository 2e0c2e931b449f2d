// The instructions that the LU kernels use beyond plain C++. Tests replace this file by one that does the
// same on the host.
#pragma once

#include "kernel/common/element.cuh"

namespace tilewright {

// How often a block looks for what another one sends before it gives up: some seconds.
constexpr int lu_most_turns = 1 << 26;

__device__ __forceinline__ int cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}
__device__ __forceinline__ void sync_all_blocks() {
  asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
}

// To the same place of shared memory in block `to` of the cluster. Words and tags that are stored by one
// instruction may arrive apart: each pair of them is looked at.
__device__ __forceinline__ void store_words(char* at, int to, unsigned x, unsigned y, unsigned z,
                                            unsigned w) {
  asm volatile(
      "{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %0, %1;\n"
      " st.relaxed.cluster.shared::cluster.v4.u32 [there], {%2, %3, %4, %5};\n}" ::"r"(
          static_cast<unsigned>(__cvta_generic_to_shared(at))),
      "r"(to), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}
__device__ __forceinline__ void store_pair(char* at, int to, unsigned x, unsigned y) {
  asm volatile(
      "{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %0, %1;\n"
      " st.relaxed.cluster.shared::cluster.v2.u32 [there], {%2, %3};\n}" ::"r"(
          static_cast<unsigned>(__cvta_generic_to_shared(at))),
      "r"(to), "r"(x), "r"(y)
      : "memory");
}
__device__ __forceinline__ uint4 load_words(const char* at) {
  uint4 v;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(at)))
               : "memory");
  return v;
}
__device__ __forceinline__ uint2 load_pair(const char* at) {
  uint2 v;
  asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(v.x), "=r"(v.y)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(at)))
               : "memory");
  return v;
}

// 1 / x to some 20 bits, of normal numbers whose reciprocal is normal.
__device__ __forceinline__ double rough_reciprocal(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  return y;
}
__device__ __forceinline__ unsigned warp_most_of(unsigned x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffu, x);
#else
  for (int far = 16; far > 0; far /= 2) x = max(x, __shfl_xor_sync(0xffffffffu, x, far));
  return x;
#endif
}
// Positions are not negative.
__device__ __forceinline__ int warp_least(int x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(0xffffffffu, x);
#else
  for (int far = 16; far > 0; far /= 2) x = min(x, __shfl_xor_sync(0xffffffffu, x, far));
  return x;
#endif
}
__device__ __forceinline__ bool any_of_warp(bool x) { return __any_sync(0xffffffffu, x); }
__device__ __forceinline__ int first_lane_with(bool x) { return __ffs(__ballot_sync(0xffffffffu, x)) - 1; }
__device__ __forceinline__ unsigned word_of_lane(unsigned x, int lane) {
  return __shfl_sync(0xffffffffu, x, lane);
}
__device__ __forceinline__ int add_to(int* counter, int value) { return atomicAdd(counter, value); }
__device__ __forceinline__ unsigned words_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ uint2 words_of(double x) {
  return {static_cast<unsigned>(__double2loint(x)), static_cast<unsigned>(__double2hiint(x))};
}

}  // namespace tilewright
