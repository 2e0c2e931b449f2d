// What the lanes of a warp tell each other where they walk over a list of products together.
#pragma once

namespace tilewright {

// An address that one lane holds, for all of them.
template <class T>
__device__ __forceinline__ T* warp_address(T* mine, int lane) {
  return reinterpret_cast<T*>(__shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(mine), lane));
}
// The lanes for which it is so, as bits.
__device__ __forceinline__ unsigned warp_votes(bool mine) { return __ballot_sync(0xffffffffu, mine); }
// The place of the lowest bit, of at least one.
__device__ __forceinline__ int lowest_bit(unsigned bits) { return __ffs(static_cast<int>(bits)) - 1; }
// Asks for the line of device memory that an address lies in.
__device__ __forceinline__ void fetch_line(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

}  // namespace tilewright
