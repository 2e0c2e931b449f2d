// The instructions of src/kernel/lu_panel/device.cuh, emulated; found before those by the tests that run the
// LU kernels on the host. What is sent to another block arrives at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "emulation/gpu.hpp"
#include "kernel/common/copy.cuh"

namespace tilewright {

struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};

using std::fabs;
using std::fma;
using std::fmax;
using std::max;
using std::min;

inline int cluster_rank() { return static_cast<int>(emulation::cluster_rank()); }
inline void sync_all_blocks() { emulation::sync_cluster(); }

inline bool comes_in_time(unsigned long long* barrier, unsigned parity) {
  emulation::barrier_wait(barrier, parity);
  return true;
}
template <class P>
void send_to(int to, void* at, const P& pack, unsigned long long* barrier) {
  emulation::send_to(static_cast<unsigned>(to), at, &pack, sizeof pack, barrier);
}
inline void tell_all_before() {}
inline void tell_word(unsigned long long* at, unsigned long long value) {
  *at = value;
  emulation::got_on();
}
inline unsigned long long seen_word(const unsigned long long* at) { return *at; }
inline bool comes_in_time(const unsigned long long* at, unsigned long long tag, unsigned long long& value) {
  return emulation::wait_until([&] {
    value = *at;
    return static_cast<unsigned>(value) == static_cast<unsigned>(tag);
  });
}
template <class Words>
Words load_as(const char* at) {
  Words words;
  std::memcpy(&words, at, sizeof words);
  return words;
}
inline double rough_reciprocal(double x) { return double(float(1 / x)); }

inline unsigned warp_most(unsigned x) {
  const auto all = emulation::warp_exchange(x);
  return *std::max_element(all.begin(), all.end());
}
inline int warp_least(int x) {
  const auto all = emulation::warp_exchange(static_cast<unsigned>(x));
  int least = x;
  for (const unsigned one : all) least = std::min(least, static_cast<int>(one));
  return least;
}
inline unsigned lanes_with(bool x) {
  const auto all = emulation::warp_exchange(x);
  unsigned lanes = 0;
  for (unsigned i = 0; i < all.size(); ++i) lanes |= all[i] << i;
  return lanes;
}
inline int lowest_lane(unsigned lanes) { return __builtin_ctz(lanes); }
inline unsigned word_of_lane(unsigned x, int lane) {
  return emulation::warp_exchange(x)[static_cast<std::size_t>(lane)];
}
inline int add_to(int* counter, int value) { return std::exchange(*counter, *counter + value); }
inline unsigned words_of(float x) { return load_as<unsigned>(reinterpret_cast<const char*>(&x)); }
inline uint2 words_of(double x) { return load_as<uint2>(reinterpret_cast<const char*>(&x)); }

}  // namespace tilewright
