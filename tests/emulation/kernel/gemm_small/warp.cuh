// The exchanges of src/kernel/gemm_small/warp.cuh, emulated; found before those by the tests that run
// stencils on the host.
#pragma once

#include <bit>

#include "emulation/gpu.hpp"

namespace tilewright {

template <class T>
T* warp_address(T* mine, int lane) {
  const auto bits = reinterpret_cast<unsigned long long>(mine);
  const auto low = emulation::warp_exchange(static_cast<unsigned>(bits));
  const auto high = emulation::warp_exchange(static_cast<unsigned>(bits >> 32));
  const auto from = static_cast<std::size_t>(lane) % 32;
  return reinterpret_cast<T*>(static_cast<unsigned long long>(high[from]) << 32 | low[from]);
}
inline unsigned warp_votes(bool mine) {
  unsigned bits = 0;
  const auto votes = emulation::warp_exchange(mine ? 1 : 0);
  for (unsigned lane = 0; lane < 32; ++lane) bits |= votes[lane] << lane;
  return bits;
}
inline int lowest_bit(unsigned bits) { return std::countr_zero(bits); }
inline void fetch_line(const void*) {}

}  // namespace tilewright
