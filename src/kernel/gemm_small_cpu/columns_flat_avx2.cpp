// Gathers a vector of scattered elements with AVX2 by the cheapest of: a load or broadcast, permuted by an
// immediate or an index vector, or two vectors permuted and blended, since no instruction permutes two.
#include <algorithm>
#include <optional>

#include "kernel/gemm_small_cpu/columns_flat.hpp"

namespace tilewright::columns {
namespace {

using Elements = FlatGenerator::Lanes;

bool is_run(const Elements& lanes, int width) {
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i] != lanes[0] + static_cast<int>(i) % width) return false;
  return true;
}

// vpermilpd: each element from its own pair.
std::optional<std::uint8_t> pair_immediate(const Elements& index) {
  if (index.size() != 4) return std::nullopt;
  int bits = 0;
  for (int lane = 0; lane < 4; ++lane) {
    const int within = index[static_cast<std::size_t>(lane)] - lane / 2 * 2;
    if (within < 0 || within > 1) return std::nullopt;
    bits |= within << lane;
  }
  return static_cast<std::uint8_t>(bits);
}

// vperm2f128: halves that are halves of the two vectors.
std::optional<std::uint8_t> halves_immediate(const Elements& index) {
  const auto width = index.size() / 2;
  int bits = 0;
  for (std::size_t half = 0; half < 2; ++half) {
    const int first = index[half * width];
    if (first % static_cast<int>(width) != 0) return std::nullopt;
    for (std::size_t i = 1; i < width; ++i)
      if (index[half * width + i] != first + static_cast<int>(i)) return std::nullopt;
    bits |= first / static_cast<int>(width) << (half * 4);
  }
  return static_cast<std::uint8_t>(bits);
}

// The cost of permuting a vector: 0 none, 1 by an immediate, 2 by one that crosses halves or an index vector.
int permutation_cost(const Elements& index) {
  if (index[0] == 0 && is_run(index, static_cast<int>(index.size()))) return 0;
  const bool short_way = index.size() == 4 ? pair_immediate(index).has_value()  //
                                           : quad_immediate(index).has_value();
  return short_way ? 1 : 2;
}

Elements from_start(const Elements& lanes, int start) {
  Elements index;
  for (const int lane : lanes) index.push_back(lane - start);
  return index;
}

}  // namespace

// Reads nothing beyond the period.
void FlatGenerator::gather_256(const Xbyak::Ymm& to, const Value& value) {
  const Lanes& lanes = value.lanes;
  const int available = static_cast<int>(available_[value.operand]);
  const auto [lowest, highest] = std::minmax_element(lanes.begin(), lanes.end());
  const auto from = [&](int element) {
    count_load();
    return at(value.operand, element);
  };
  if (is_run(lanes, lanes_)) return vmovups(to, from(lanes[0]));
  if (is_run(lanes, 16 / real_bytes_)) return vbroadcastf128(to, from(lanes[0]));
  if (is_run(lanes, 8 / real_bytes_)) return vbroadcastsd(to, from(lanes[0]));
  if (is_run(lanes, 1)) return vbroadcastss(to, from(lanes[0]));
  const int last_start = std::min(*lowest, available - lanes_);
  int start = -1, cost = 3;
  for (int s = std::max(0, *highest - lanes_ + 1); s <= last_start; ++s)
    if (const int own = permutation_cost(from_start(lanes, s)); own < cost) start = s, cost = own;
  if (start >= 0) return permute_256(to, from_start(lanes, start), from(start));
  int second = *highest;
  for (const int lane : lanes)
    if (lane >= last_start + lanes_) second = std::min(second, lane);
  second = std::min(second, available - lanes_);
  Lanes index;
  for (const int lane : lanes)
    index.push_back(lane < last_start + lanes_ ? lane - last_start : lane - second + lanes_);
  permute_two_256(to, index, from(last_start), from(second));
}

// `to` may be `from`, a register or memory.
void FlatGenerator::permute_256(const Xbyak::Ymm& to, const Lanes& index, const Xbyak::Operand& from) {
  if (!from.isMEM()) count_other();
  if (permutation_cost(index) == 0) {
    from.isMEM() ? vmovups(to, static_cast<const Xbyak::Address&>(from))
                 : vmovaps(to, static_cast<const Xbyak::Ymm&>(from));
  } else if (const auto bits = pair_immediate(index)) {
    vpermilpd(to, from, *bits);
  } else if (const auto quads = quad_immediate(index)) {
    real_bytes_ == 8 ? vpermpd(to, from, *quads) : vpermilps(to, from, *quads);
  } else {
    vpermps(to, index_vector(index), from);
  }
}

// Selects elements of two vectors: permutes each by the positions within it, and blends the results.
void FlatGenerator::permute_two_256(const Xbyak::Ymm& to, const Lanes& index, const Xbyak::Operand& low,
                                    const Xbyak::Operand& high) {
  if (const auto halves = halves_immediate(index); halves && !low.isMEM()) {
    count_other();
    return vperm2f128(to, static_cast<const Xbyak::Ymm&>(low), high, *halves);
  }
  Lanes within;
  int from_high = 0;
  for (int lane = 0; lane < lanes_; ++lane) {
    const int one = index[static_cast<std::size_t>(lane)];
    within.push_back(one % lanes_);
    if (one >= lanes_) from_high |= 1 << lane;
  }
  const Xbyak::Ymm work = vec(low_work_register);
  permute_256(work, within, low);
  permute_256(to, within, high);
  count_other();
  const auto bits = static_cast<std::uint8_t>(from_high);
  real_bytes_ == 8 ? vblendpd(to, work, to, bits) : vblendps(to, work, to, bits);
}

}  // namespace tilewright::columns
