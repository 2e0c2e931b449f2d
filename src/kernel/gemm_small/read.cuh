// Reads through the read-only cache (ld.global.nc), of memory that nothing writes while the kernel runs.
#pragma once

namespace tilewright {

template <class Words, class P>
__device__ __forceinline__ P read_only_words(const P* from) {
  const Words words = __ldg(reinterpret_cast<const Words*>(from));
  return *reinterpret_cast<const P*>(&words);
}
// Reads an object of 4, 8 or 16 aligned bytes by one instruction.
template <class P>
__device__ __forceinline__ P read_only(const P* from) {
  if constexpr (sizeof(P) == 16)
    return read_only_words<uint4>(from);
  else if constexpr (sizeof(P) == 8)
    return read_only_words<uint2>(from);
  else
    return read_only_words<unsigned>(from);
}

}  // namespace tilewright
