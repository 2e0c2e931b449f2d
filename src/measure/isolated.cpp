// The work between calls, and the lengths of gaps.
#include "measure/isolated.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "device/cpu.hpp"

namespace tilewright {
namespace {

constexpr double smallest_other_data = 4.0 * 1024 * 1024, largest_other_data = 64.0 * 1024 * 1024;
constexpr std::size_t other_code_bits = 10;  // 1024 functions of 64 bytes: 64 KiB of code
constexpr int other_calls_at_once = 32;      // between two readings of the clock, some microseconds

// The functions differ, or the linker would keep one of them.
template <std::size_t index>
[[gnu::noinline, gnu::aligned(64)]] std::uint64_t other_code(std::uint64_t x) {
  x ^= x >> (3 + index % 29);
  x *= 0x9E3779B97F4A7C15 + 2 * index;
  return (x >> (index % 61) & 1) != 0 ? x + index : x ^ x << (5 + index % 31);
}

template <std::size_t... index>
constexpr auto list_of_other_code(std::index_sequence<index...>) {
  return std::array<std::uint64_t (*)(std::uint64_t), sizeof...(index)>{&other_code<index>...};
}
constexpr auto all_other_code =
    list_of_other_code(std::make_index_sequence<std::size_t(1) << other_code_bits>());

std::size_t other_data_words() {
  const double bytes = std::clamp(4.0 * double(cpu_info().l2_bytes), smallest_other_data, largest_other_data);
  return std::bit_floor(std::size_t(bytes) / sizeof(std::uint64_t));
}

}  // namespace

OtherWork::OtherWork() : words_(other_data_words(), 1) {}

void OtherWork::run(double seconds) {
  const double end_s = wall_seconds() + seconds;
  const int place_shift = 64 - std::countr_zero(words_.size());
  do {
    for (int i = 0; i < other_calls_at_once; ++i) {
      random_ = random_ * 6364136223846793005 + 1442695040888963407;  // Knuth's generator
      std::uint64_t& word = words_[random_ >> place_shift];
      word = all_other_code[random_ >> 8 & ((1u << other_code_bits) - 1)](word ^ random_);
    }
  } while (wall_seconds() < end_s);
}

double IsolatedCalls::gap_s() {
  std::uniform_real_distribution<double> order(std::log(shortest_gap_s), std::log(longest_gap_s));
  return std::exp(order(random_));
}

int IsolatedCalls::calls_in(double turn_s) {
  const double mean_gap_s = (longest_gap_s - shortest_gap_s) / std::log(longest_gap_s / shortest_gap_s);
  return int(std::clamp(turn_s / mean_gap_s, double(least_calls), 1000.0));
}

}  // namespace tilewright
