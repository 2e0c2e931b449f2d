// The instructions of src/kernel/lu_panel/device.cuh, emulated; found before those by the tests that run the
// LU kernels on the host. What is sent to another block arrives at once, words of one store in any order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "emulation/gpu.hpp"

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

constexpr int lu_most_turns = 1 << 26;

inline int cluster_rank() { return static_cast<int>(emulation::cluster_rank()); }
inline void sync_all_blocks() { emulation::sync_cluster(); }

inline void store_words(char* at, int to, unsigned x, unsigned y, unsigned z, unsigned w) {
  const unsigned second[] = {z, w};
  emulation::store_at(static_cast<unsigned>(to), at + 8, second, 8);
  emulation::let_others_run();
  const unsigned first[] = {x, y};
  emulation::store_at(static_cast<unsigned>(to), at, first, 8);
}
inline void store_pair(char* at, int to, unsigned x, unsigned y) {
  const unsigned words[] = {x, y};
  emulation::store_at(static_cast<unsigned>(to), at, words, 8);
}
template <class Words>
Words load_as(const char* at) {
  Words words;
  std::memcpy(&words, at, sizeof words);
  return words;
}
inline uint4 load_words(const char* at) {
  emulation::let_others_run();
  return load_as<uint4>(at);
}
inline uint2 load_pair(const char* at) {
  emulation::let_others_run();
  return load_as<uint2>(at);
}
inline double rough_reciprocal(double x) { return double(float(1 / x)); }

inline unsigned warp_most_of(unsigned x) {
  const auto all = emulation::warp_exchange(x);
  return *std::max_element(all.begin(), all.end());
}
inline int warp_least(int x) {
  const auto all = emulation::warp_exchange(static_cast<unsigned>(x));
  int least = x;
  for (const unsigned one : all) least = std::min(least, static_cast<int>(one));
  return least;
}
inline bool any_of_warp(bool x) { return warp_most_of(x) != 0; }
inline int first_lane_with(bool x) {
  const auto all = emulation::warp_exchange(x);
  return static_cast<int>(std::find(all.begin(), all.end(), 1U) - all.begin());
}
inline unsigned word_of_lane(unsigned x, int lane) {
  return emulation::warp_exchange(x)[static_cast<std::size_t>(lane)];
}
inline int add_to(int* counter, int value) { return std::exchange(*counter, *counter + value); }
inline unsigned words_of(float x) { return load_as<unsigned>(reinterpret_cast<const char*>(&x)); }
inline uint2 words_of(double x) { return load_as<uint2>(reinterpret_cast<const char*>(&x)); }

}  // namespace tilewright
