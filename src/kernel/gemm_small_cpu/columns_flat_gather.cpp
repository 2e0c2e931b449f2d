// Gathers a vector of scattered elements of A or B: loaded with a broadcast, permuted from memory, or
// permuted from whole vectors that were loaded once. Registers keep recent values.
#include <algorithm>

#include "kernel/gemm_small_cpu/columns_flat.hpp"

namespace tilewright::columns {
namespace {

// The immediate of a shuffle of 128-bit blocks of two vectors; the lower half comes from the first.
bool block_immediate(const std::vector<int>& index, int& immediate) {
  const std::size_t lanes = index.size(), width = lanes / 4;
  immediate = 0;
  for (std::size_t block = 0; block < 4; ++block) {
    const int first = index[block * width];
    if (first % static_cast<int>(width) != 0) return false;
    for (std::size_t i = 1; i < width; ++i)
      if (index[block * width + i] != first + static_cast<int>(i)) return false;
    const int source = first / static_cast<int>(lanes);
    if (source != static_cast<int>(block / 2)) return false;
    immediate |= first % static_cast<int>(lanes) / static_cast<int>(width) << (block * 2);
  }
  return true;
}

}  // namespace

std::optional<std::uint8_t> quad_immediate(const FlatGenerator::Lanes& index) {
  int bits = 0;
  for (std::size_t lane = 0; lane < index.size(); ++lane) {
    const int within = index[lane] - static_cast<int>(lane / 4 * 4);
    if (within < 0 || within > 3) return std::nullopt;
    if (lane < 4)
      bits |= within << (lane * 2);
    else if (within != (bits >> (lane % 4 * 2) & 3))
      return std::nullopt;
  }
  return static_cast<std::uint8_t>(bits);
}

void FlatGenerator::forget_values() { values_.clear(); }

// Returns the register of a value and marks it most recent; a new value takes the least recent register.
int FlatGenerator::claim(const Value& value) {
  int reg = first_value_register + static_cast<int>(values_.size());
  if (values_.size() == static_cast<std::size_t>(value_registers_)) {
    reg = values_.front().second;
    values_.erase(values_.begin());
  }
  values_.emplace_back(value, reg);
  return reg;
}

Xbyak::Ymm FlatGenerator::gather(const Value& value) {
  const auto known =
      std::find_if(values_.begin(), values_.end(), [&](const auto& entry) { return entry.first == value; });
  if (known != values_.end()) {
    std::rotate(known, known + 1, values_.end());
    return vec(values_.back().second);
  }
  const bool held =
      config_.hold == Hold::both || config_.hold == (value.operand == operand_a ? Hold::a : Hold::b);
  if (held && within_aligned_vectors(value)) return gather_from_registers(value);
  const Xbyak::Ymm to = vec(claim(value));
  if (!has_wide_permutations())
    gather_256(to, value);
  else if (!gather_broadcast(to, value) && !gather_in_lane(to, value))
    gather_permute(to, value);
  return to;
}

// True if the elements lie in at most two whole vectors of the period.
bool FlatGenerator::within_aligned_vectors(const Value& value) const {
  const auto [lowest, highest] = std::minmax_element(value.lanes.begin(), value.lanes.end());
  const int first = *lowest / lanes_, last = *highest / lanes_;
  return last - first <= 1 && (last + 1) * lanes_ <= available_[value.operand];
}

Xbyak::Ymm FlatGenerator::whole_vector(Operand operand, int vector) {
  Value value{operand, Lanes(static_cast<std::size_t>(lanes_))};
  for (int lane = 0; lane < lanes_; ++lane)
    value.lanes[static_cast<std::size_t>(lane)] = vector * lanes_ + lane;
  const auto known =
      std::find_if(values_.begin(), values_.end(), [&](const auto& entry) { return entry.first == value; });
  if (known != values_.end()) {
    std::rotate(known, known + 1, values_.end());
    return vec(values_.back().second);
  }
  const Xbyak::Ymm to = vec(claim(value));
  count_load();
  vmovups(to, ptr[base(operand) + vector * vector_bytes_]);
  return to;
}

Xbyak::Ymm FlatGenerator::gather_from_registers(const Value& value) {
  const auto [lowest, highest] = std::minmax_element(value.lanes.begin(), value.lanes.end());
  const int first = *lowest / lanes_, last = *highest / lanes_;
  const Xbyak::Ymm low = whole_vector(value.operand, first);
  const Xbyak::Ymm high = last == first ? low : whole_vector(value.operand, last);
  Lanes index;  // within the two vectors
  for (const int lane : value.lanes) index.push_back(lane - first * lanes_);
  const Value whole{value.operand, value.lanes};
  const bool identity = last == first && std::is_sorted(index.begin(), index.end()) && index.front() == 0 &&
                        index.back() == lanes_ - 1 &&
                        std::adjacent_find(index.begin(), index.end()) == index.end();
  if (identity) return low;
  const Xbyak::Ymm to = vec(claim(whole));
  if (has_wide_permutations())
    permute_registers(to, index, low, high, last != first);
  else if (last == first)
    permute_256(to, index, low);
  else
    permute_two_256(to, index, low, high);
  return to;
}

void FlatGenerator::permute_registers(const Xbyak::Ymm& to, const Lanes& index, const Xbyak::Ymm& low,
                                      const Xbyak::Ymm& high, bool two) {
  Lanes pair = index;  // the same as whole blocks of (low, high)
  if (!two)
    for (int lane = lanes_ / 2; lane < lanes_; ++lane) pair[static_cast<std::size_t>(lane)] += lanes_;
  count_other();
  int immediate = 0;
  if (const auto quads = quad_immediate(index); quads && !two) {
    real_bytes_ == 8 ? vpermpd(to, low, *quads) : vpermilps(to, low, *quads);
  } else if (block_immediate(pair, immediate)) {
    const auto bits = static_cast<std::uint8_t>(immediate);
    real_bytes_ == 8 ? vshuff64x2(to, low, high, bits) : vshuff32x4(to, low, high, bits);
  } else if (!two) {
    const auto table = index_vector(index);
    real_bytes_ == 8 ? vpermpd(to, table, low) : vpermps(to, table, low);
  } else {
    vmovaps(to, index_vector(index));
    count_other();
    real_bytes_ == 8 ? vpermi2pd(to, low, high) : vpermi2ps(to, low, high);
  }
}

// A run of 16 or 32 bytes, repeated over the vector by the load port.
bool FlatGenerator::gather_broadcast(const Xbyak::Ymm& to, const Value& value) {
  const Lanes& lanes = value.lanes;
  for (const int bytes : {16, 32}) {
    const int width = bytes / real_bytes_;
    bool repeats = true;
    for (int lane = 0; lane < lanes_; ++lane)
      repeats = repeats && lanes[static_cast<std::size_t>(lane)] == lanes[0] + lane % width;
    if (!repeats) continue;
    const auto from = at(value.operand, lanes[0]);
    count_load();
    bytes == 16 ? vbroadcastf32x4(to, from) : vbroadcastf64x4(Xbyak::Zmm(to.getIdx()), from);
    return true;
  }
  return false;
}

// Elements with the same pattern in each 128 bits (f32) or 256 bits (f64), by an immediate.
bool FlatGenerator::gather_in_lane(const Xbyak::Ymm& to, const Value& value) {
  const int lowest = *std::min_element(value.lanes.begin(), value.lanes.end());
  for (int start = std::max(0, lowest - 3); start <= lowest && start + lanes_ <= available_[value.operand];
       ++start) {
    Lanes index;
    for (const int lane : value.lanes) index.push_back(lane - start);
    const auto bits = quad_immediate(index);
    if (!bits) continue;
    const auto from = at(value.operand, start);
    count_load();
    real_bytes_ == 8 ? vpermpd(to, from, *bits) : vpermilps(to, from, *bits);
    return true;
  }
  return false;
}

// Any pattern within two vectors, by an index vector. Reads nothing beyond the period.
void FlatGenerator::gather_permute(const Xbyak::Ymm& to, const Value& value) {
  const Lanes& lanes = value.lanes;
  const auto available = static_cast<int>(available_[value.operand]);
  const int lowest = *std::min_element(lanes.begin(), lanes.end());
  const int highest = *std::max_element(lanes.begin(), lanes.end());
  const int start = std::min(lowest, available - lanes_);
  const int second = std::min(start + lanes_, available - lanes_);
  Lanes index;
  for (const int lane : lanes) index.push_back(lane < start + lanes_ ? lane - start : lane - second + lanes_);
  const auto from = at(value.operand, start);
  count_load();
  if (highest < start + lanes_) {
    const auto table = index_vector(index);
    real_bytes_ == 8 ? vpermpd(to, table, from) : vpermps(to, table, from);
    return;
  }
  const Xbyak::Ymm low = vec(low_work_register);
  vmovups(low, from);
  vmovaps(to, index_vector(index));
  count_load(), count_other();
  const auto high = at(value.operand, second);
  real_bytes_ == 8 ? vpermi2pd(to, low, high) : vpermi2ps(to, low, high);
}

// Returns the register of an index vector; loads it into a scratch register if none keeps it.
Xbyak::Ymm FlatGenerator::index_vector(const Lanes& lanes) {
  const auto table = tables_.emplace(lanes, static_cast<int>(tables_.size())).first->second;
  if (const auto kept = registers_.find(lanes); kept != registers_.end()) return vec(kept->second);
  const Xbyak::Ymm work = vec(index_work_register);
  count_load();
  vmovups(work, ptr[rip + table_data_ + table * vector_bytes_]);
  return work;
}

// Registers keep the index vectors that are used first.
void FlatGenerator::keep_tables() {
  const int first = first_value_register + value_registers_, end = has_wide_permutations() ? 32 : 16;
  for (const auto& [lanes, table] : tables_)
    if (first + table < end) registers_.emplace(lanes, first + table);
}

void FlatGenerator::index_tables() {
  std::vector<const Lanes*> ordered(tables_.size());
  for (const auto& [lanes, table] : tables_) ordered[static_cast<std::size_t>(table)] = &lanes;
  align(64);
  L(table_data_);
  for (const Lanes* lanes : ordered)
    for (const int lane : *lanes)
      real_bytes_ == 8 ? dq(static_cast<std::uint64_t>(lane)) : dd(static_cast<std::uint32_t>(lane));
}

}  // namespace tilewright::columns
