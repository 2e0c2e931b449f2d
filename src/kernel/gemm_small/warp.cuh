// Communication of the lanes of a warp that walk over a list of products together.
#pragma once

namespace tilewright {

// Broadcasts an address from one lane.
template <class T>
__device__ __forceinline__ T* warp_address(T* mine, int lane) {
  return reinterpret_cast<T*>(__shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(mine), lane));
}
// Returns the lanes with `mine`, as bits.
__device__ __forceinline__ unsigned warp_votes(bool mine) { return __ballot_sync(0xffffffffu, mine); }
// Returns the position of the lowest bit; `bits` is not 0.
__device__ __forceinline__ int lowest_bit(unsigned bits) { return __ffs(static_cast<int>(bits)) - 1; }
// Prefetches the line of device memory that contains an address.
__device__ __forceinline__ void fetch_line(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

}  // namespace tilewright
