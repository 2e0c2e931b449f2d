// Device instructions of the LU kernels. Tests replace this file by a host version.
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/common/element.cuh"

namespace tilewright {

// Polls of a block before it gives up: some seconds.
constexpr int lu_most_turns = 1 << 24;

__device__ __forceinline__ int cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}
__device__ __forceinline__ void sync_all_blocks() {
  asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
}

__device__ __forceinline__ bool comes_in_time(unsigned long long* barrier, unsigned parity) {
  unsigned done = 0;
  for (int turns = 0; done == 0 && turns < lu_most_turns; ++turns)
    asm volatile(
        "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.b32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  return done != 0;
}

// Writes to the same place of shared memory in block `to` of the cluster and counts the bytes at its barrier.
__device__ __forceinline__ void send_words(unsigned at, unsigned barrier, uint4 x) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(
          at),
      "r"(barrier), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
      : "memory");
}
__device__ __forceinline__ void send_words(unsigned at, unsigned barrier, uint2 x) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%2, %3}, [%1];" ::"r"(at),
      "r"(barrier), "r"(x.x), "r"(x.y)
      : "memory");
}
__device__ __forceinline__ unsigned address_in(const void* at, int block) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(at)), "r"(block));
  return there;
}
template <class P>
__device__ __forceinline__ void send_to(int to, void* at, const P& pack, unsigned long long* barrier) {
  const unsigned there = address_in(at, to), told = address_in(barrier, to);
  if constexpr (sizeof(P) == 8) {
    uint2 words;
    memcpy(&words, &pack, 8);
    send_words(there, told, words);
  } else {
    uint4 words[sizeof(P) / 16];
    memcpy(words, &pack, sizeof(P));
#pragma unroll
    for (int i = 0; i < int(sizeof(P) / 16); ++i) send_words(there + 16 * i, told, words[i]);
  }
}

// Words in global memory through which the blocks of a launch communicate. They are unordered, except that
// writes before tell_all_before() are visible first.
__device__ __forceinline__ void tell_all_before() { __threadfence(); }
__device__ __forceinline__ void tell_word(unsigned long long* at, unsigned long long value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(at)), "l"(value)
               : "memory");
}
__device__ __forceinline__ unsigned long long seen_word(const unsigned long long* at) {
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
               : "=l"(value)
               : "l"(__cvta_generic_to_global(at))
               : "memory");
  return value;
}
// Polls a word whose last value was `value` until it has the low half of `tag`.
__device__ __forceinline__ bool comes_in_time(const unsigned long long* at, unsigned long long tag,
                                              unsigned long long& value) {
  for (int turns = 0; turns < lu_most_turns; ++turns) {
    if (static_cast<unsigned>(value) == static_cast<unsigned>(tag)) return true;
    value = seen_word(at);
  }
  return false;
}

// Returns 1 / x to about 20 bits, for normal numbers whose reciprocal is normal.
__device__ __forceinline__ double rough_reciprocal(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  return y;
}
__device__ __forceinline__ unsigned warp_most(unsigned x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffu, x);
#else
  for (int far = 16; far > 0; far /= 2) x = max(x, __shfl_xor_sync(0xffffffffu, x, far));
  return x;
#endif
}
// Returns the least of the warp's positions, which are not negative.
__device__ __forceinline__ int warp_least(int x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(0xffffffffu, x);
#else
  for (int far = 16; far > 0; far /= 2) x = min(x, __shfl_xor_sync(0xffffffffu, x, far));
  return x;
#endif
}
__device__ __forceinline__ unsigned lanes_with(bool x) { return __ballot_sync(0xffffffffu, x); }
__device__ __forceinline__ int lowest_lane(unsigned lanes) { return __ffs(static_cast<int>(lanes)) - 1; }
__device__ __forceinline__ unsigned word_of_lane(unsigned x, int lane) {
  return __shfl_sync(0xffffffffu, x, lane);
}
__device__ __forceinline__ int add_to(int* counter, int value) { return atomicAdd(counter, value); }
__device__ __forceinline__ unsigned words_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ uint2 words_of(double x) {
  return {static_cast<unsigned>(__double2loint(x)), static_cast<unsigned>(__double2hiint(x))};
}

}  // namespace tilewright
