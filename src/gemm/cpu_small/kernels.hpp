// The kernels of their own that the small problems of a Context's calls have got. A problem gets one when its
// calls so far would have gained by it what making it costs; until then, and whenever it was forgotten, the
// portable kernel serves. Each thread keeps the last few at hand, so that finding one again takes no lock.
#pragma once

#include <atomic>
#include <memory>

#include "core/bounded_map.hpp"
#include "core/host/fork_gate.hpp"
#include "gemm/cpu_small/bands.hpp"
#include "gemm/cpu_small/cold_kernel.hpp"
#include "gemm/cpu_small/key.hpp"
#include "gemm/cpu_small/uses.hpp"
#include "gemm/run/kernel_cache.hpp"
#include "gemm/sums/order.hpp"

namespace tilewright {

class SmallKernels {
 public:
  using Kernel = std::shared_ptr<const GemmSmallCpuKernel>;

  SmallKernels();

  // What the calling thread used lately; null where it did not use one of this key. It stays until the thread
  // asks for another one.
  [[gnu::always_inline]] const BoundKernel* recent(const SmallKey& key) const {
    if (recent_ == nullptr) return nullptr;
    const Recent& last = recent_[place_of(key)];
    const bool same = last.owner == owner_.load(std::memory_order_acquire) && last.key.shape == key.shape &&
                      last.key.lda == key.lda && last.key.ldb == key.ldb && last.key.ldc == key.ldc;
    return same ? &last.bound : nullptr;
  }

  // The problem's kernel; null while it is not worth one: what it gained by one so far, gain_s() of it by
  // this call, is less than making it costs. make() makes it, which may throw, or returns null where the
  // problem is better off without one.
  template <class Gain, class Make>
  const BoundKernel* find(const GemmProblem& p, Gain&& gain_s, Make&& make) {
    const SmallKey key = small_key(p);
    if (const BoundKernel* bound = recent(key)) return bound;
    const std::uint64_t hash = key.hash();
    if (uses_.add(hash, float(gain_s())) < worth_making_s || thread_ends_) return nullptr;
    Kernel kernel = kernels_.find(key);
    if (kernel == nullptr) {
      kernel = make();
      if (kernel == nullptr) return uses_.refuse(hash), nullptr;
      kernel = kernels_.add(key, std::move(kernel));
      uses_.keep(hash);
    }
    return remember(key, p, std::move(kernel));
  }
  // The same, made if need be whatever it gains, and held by who gets it.
  template <class Make>
  Kernel obtain(const GemmProblem& p, Make&& make) {
    constexpr double enough_s = 1;
    if (find(
            p, [] { return enough_s; }, make) == nullptr)
      return nullptr;
    return recent_[place_of(small_key(p))].held->kernel;
  }

  // The kernel that find() has given for the problem; null where it was forgotten.
  Kernel kept(const GemmProblem& p) { return kernels_.find(small_key(p)); }
  // The problem's kernel from now on, whatever it gains, until clear().
  void keep(const GemmProblem& p, Kernel kernel);

  // As recent(), of products with one long side.
  [[gnu::always_inline]] const BandKernels* recent(const LongKey& key) const {
    if (recent_long_ == nullptr) return nullptr;
    const RecentLong& last = recent_long_[place_of(key)];
    const bool same = last.owner.get() == owner_.load(std::memory_order_acquire) && last.key == key;
    return same ? &last.bands : nullptr;
  }
  void remember(const LongKey& key, BandKernels bands);

  // For calls without one.
  const ColdBlocks& cold_blocks() const { return cold_blocks_; }
  // For calls that bring products of one C together.
  SumScratches& sum_scratches() { return sum_scratches_; }
  void clear();

 private:
  // About what one costs to generate.
  static constexpr float worth_making_s = 150e-6f;
  static constexpr std::size_t largest_bytes = 64 << 20;

  struct Owner {};
  struct Kept;  // what a thread has at hand, as long as it lives
  struct Held {
    std::shared_ptr<const Owner> owner;  // of a Context, since its last clear()
    Kernel kernel;
  };
  // One line of the cache, which is all that a call looks at.
  struct alignas(64) Recent {
    SmallKey key;
    const Owner* owner = nullptr;
    BoundKernel bound;
    const Held* held = nullptr;  // what is named beside
  };
  struct RecentLong {
    LongKey key;
    std::shared_ptr<const Owner> owner;
    BandKernels bands;
  };
  struct Hash {
    std::size_t operator()(const SmallKey& key) const { return key.hash(); }
  };

  static constexpr int recent_bits = 6;
  [[gnu::always_inline]] static std::size_t place_of(const SmallKey& key) {
    const std::uint64_t mixed = key.shape ^ std::uint64_t(key.lda) << 22 ^ std::uint64_t(key.ldb) << 34 ^
                                std::uint64_t(key.ldc) << 46;
    return mixed * 0x9e3779b97f4a7c15u >> (64 - recent_bits);
  }
  static constexpr int recent_long_bits = 4;
  [[gnu::always_inline]] static std::size_t place_of(const LongKey& key) {
    const std::uint64_t mixed = key.shape ^ std::uint64_t(key.m) << 20 ^ std::uint64_t(key.n) << 40;
    return mixed * 0x9e3779b97f4a7c15u >> (64 - recent_long_bits);
  }
  // Of the thread; null before its first.
  static thread_local constinit Recent* recent_;
  static thread_local constinit RecentLong* recent_long_;
  // What the thread had at hand is gone, and there will be no other.
  static thread_local constinit bool thread_ends_;

  void renew_owner();
  const BoundKernel* remember(const SmallKey& key, const GemmProblem& problem, Kernel kernel);

  Mutex mutex_;
  std::shared_ptr<const Owner> kept_owner_;
  std::atomic<const Owner*> owner_;
  SmallUses uses_;
  const ColdBlocks cold_blocks_;
  SumScratches sum_scratches_;
  BoundedMap<SmallKey, GemmSmallCpuKernel, Hash> kernels_{largest_bytes, kernel_memory_bytes};
};

}  // namespace tilewright
