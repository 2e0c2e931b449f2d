// The instructions of src/kernel/factor_gpu/device.cuh, emulated; found before those by the tests that run
// the factorizations on the host.
#pragma once

#include <bit>
#include <cmath>

#include "emulation/gpu.hpp"

namespace tilewright {

inline unsigned lane_exchange(unsigned x, int distance) {
  const unsigned lane = emulation::thread_index.x % 32;
  return emulation::warp_exchange(x)[lane ^ static_cast<unsigned>(distance)];
}
inline unsigned long long lane_exchange(unsigned long long x, int distance) {
  const unsigned low = lane_exchange(static_cast<unsigned>(x), distance);
  const unsigned high = lane_exchange(static_cast<unsigned>(x >> 32), distance);
  return static_cast<unsigned long long>(high) << 32 | low;
}
inline float lane_value(float x, int lane) {
  return std::bit_cast<float>(emulation::warp_exchange(std::bit_cast<unsigned>(x))[unsigned(lane)]);
}
inline double lane_value(double x, int lane) {
  const auto bits = std::bit_cast<unsigned long long>(x);
  const unsigned low = emulation::warp_exchange(unsigned(bits))[unsigned(lane)];
  const unsigned high = emulation::warp_exchange(unsigned(bits >> 32))[unsigned(lane)];
  return std::bit_cast<double>(static_cast<unsigned long long>(high) << 32 | low);
}
inline unsigned magnitude_bits(float x) { return std::bit_cast<unsigned>(std::fabs(x)); }
inline unsigned long long magnitude_bits(double x) { return std::bit_cast<unsigned long long>(std::fabs(x)); }
inline float magnitude_of(float x) { return std::fabs(x); }
inline double magnitude_of(double x) { return std::fabs(x); }
inline float inverse_root(float x) { return 1 / std::sqrt(x); }
inline double inverse_root(double x) { return 1 / std::sqrt(x); }
template <class Vector>
void store_vector(void* to, const Vector& value) {
  *static_cast<Vector*>(to) = value;
}
inline void forget_memory() {}

}  // namespace tilewright
