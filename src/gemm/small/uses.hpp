// How much each small problem would have gained from a kernel of its own so far: a table of fixed size
// without locks, in which what is not asked for again makes way for what is. Its answers steer when kernels
// are made and nothing else, so that a lost count costs a little time and no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace tilewright {

class SmallUses {
 public:
  ~SmallUses();

  // Notes another `gain_s` for what has this hash; returns the sum, or what is left of it where others with
  // the same place were asked for more.
  float add(std::uint64_t hash, float gain_s);
  // What has this hash has a kernel of its own: its count stays above all others for long.
  void keep(std::uint64_t hash) { set(hash, kept_s); }
  // It shall have none: its count stays below what is worth one for long.
  void refuse(std::uint64_t hash) { set(hash, -kept_s); }
  void clear();

 private:
  static constexpr std::size_t slot_count = 1 << 12;
  using Slot = std::atomic<std::uint64_t>;  // the hash's upper half, and the sum as a float

  static constexpr float kept_s = 1;  // far above what makes a kernel worth making

  void set(std::uint64_t hash, float sum);
  Slot& slot_of(std::uint64_t hash);

  std::atomic<Slot*> slots_ = nullptr;  // made at the first use
};

}  // namespace tilewright
