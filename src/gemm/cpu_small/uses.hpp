// How much each small problem would have gained from a kernel of its own so far: a table of fixed size
// without locks, in which what is not asked for again makes way for what is. Its answers steer when kernels
// are made and nothing else, so that a lost count costs a little time and no more.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

namespace tilewright {

class SmallUses {
 public:
  ~SmallUses() { delete[] slots_.load(); }

  // Notes another `gain_s` for what has this hash; returns the sum, or what is left of it where others with
  // the same place were asked for more.
  float add(std::uint64_t hash, float gain_s) {
    Slot& slot = slot_of(hash);
    const std::uint64_t before = slot.load(std::memory_order_relaxed);
    const float sum = std::bit_cast<float>(std::uint32_t(before));
    const bool same = before >> 32 == hash >> 32;
    if (same || sum <= gain_s) {
      const float all = same ? sum + gain_s : gain_s;
      slot.store(packed(hash, all), std::memory_order_relaxed);
      return all;
    }
    slot.store(packed(before, sum - gain_s), std::memory_order_relaxed);
    return gain_s;
  }
  // What has this hash has a kernel of its own: its count stays above all others for long.
  void keep(std::uint64_t hash) { set(hash, kept_s); }
  // It shall have none: its count stays below what is worth one for long.
  void refuse(std::uint64_t hash) { set(hash, -kept_s); }
  void clear() {
    Slot* slots = slots_.load(std::memory_order_acquire);
    for (std::size_t i = 0; slots != nullptr && i < slot_count; ++i)
      slots[i].store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t slot_count = 1 << 12;
  using Slot = std::atomic<std::uint64_t>;  // the hash's upper half, and the sum as a float

  static constexpr float kept_s = 1;  // far above what makes a kernel worth making

  static std::uint64_t packed(std::uint64_t hash, float sum) {
    return (hash >> 32 << 32) | std::bit_cast<std::uint32_t>(sum);
  }
  void set(std::uint64_t hash, float sum) {
    slot_of(hash).store(packed(hash, sum), std::memory_order_relaxed);
  }
  Slot& slot_of(std::uint64_t hash) {
    Slot* slots = slots_.load(std::memory_order_acquire);
    if (slots == nullptr) {
      auto made = std::make_unique<Slot[]>(slot_count);
      if (slots_.compare_exchange_strong(slots, made.get())) slots = made.release();
    }
    return slots[hash % slot_count];
  }

  std::atomic<Slot*> slots_ = nullptr;  // made at the first use
};

}  // namespace tilewright
