// The slots.
#include "gemm/small/uses.hpp"

#include <bit>

namespace tilewright {
namespace {

std::uint64_t packed(std::uint64_t hash, float sum) {
  return (hash >> 32 << 32) | std::bit_cast<std::uint32_t>(sum);
}
float sum_of(std::uint64_t slot) { return std::bit_cast<float>(std::uint32_t(slot)); }

}  // namespace

SmallUses::~SmallUses() { delete[] slots_.load(); }

SmallUses::Slot& SmallUses::slot_of(std::uint64_t hash) {
  Slot* slots = slots_.load(std::memory_order_acquire);
  if (slots == nullptr) {
    auto made = std::make_unique<Slot[]>(slot_count);
    if (slots_.compare_exchange_strong(slots, made.get())) slots = made.release();
  }
  return slots[hash % slot_count];
}

float SmallUses::add(std::uint64_t hash, float gain_s) {
  Slot& slot = slot_of(hash);
  const std::uint64_t before = slot.load(std::memory_order_relaxed);
  float sum = sum_of(before);
  if (before >> 32 == hash >> 32) {
    sum += gain_s;
    slot.store(packed(hash, sum), std::memory_order_relaxed);
    return sum;
  }
  if (sum > gain_s) {
    slot.store(packed(before, sum - gain_s), std::memory_order_relaxed);
    return gain_s;
  }
  slot.store(packed(hash, gain_s), std::memory_order_relaxed);
  return gain_s;
}

void SmallUses::set(std::uint64_t hash, float sum) {
  slot_of(hash).store(packed(hash, sum), std::memory_order_relaxed);
}

void SmallUses::clear() {
  Slot* slots = slots_.load(std::memory_order_acquire);
  for (std::size_t i = 0; slots != nullptr && i < slot_count; ++i)
    slots[i].store(0, std::memory_order_relaxed);
}

}  // namespace tilewright
