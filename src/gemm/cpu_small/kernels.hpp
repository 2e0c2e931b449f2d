// The specialised kernels of small problems that a Context's calls have met. A problem gets one when its
// calls so far would have gained what making it costs; until then, and whenever it was evicted, the portable
// kernel serves. Each thread caches its most recent kernels, which it finds again without a lock.
#pragma once

#include <atomic>
#include <bit>
#include <memory>

#include "core/bounded_map.hpp"
#include "core/host/fork_gate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/cpu_small/bands.hpp"
#include "gemm/cpu_small/cold_kernel.hpp"
#include "gemm/cpu_small/key.hpp"
#include "gemm/cpu_small/variety.hpp"
#include "gemm/run/runner.hpp"
#include "gemm/sums/run.hpp"

namespace tilewright {

// Counts what each small problem would have gained from its own kernel so far, in a table of fixed size
// without locks. Rare problems are evicted; lost counts are harmless.
class SmallUses {
 public:
  ~SmallUses() { delete[] slots_.load(); }

  // Adds `gain_s` to the problem of this hash. Returns its sum, or `gain_s` if a problem with a larger sum
  // holds the slot, whose sum is then reduced.
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
  // The problem has a kernel: its sum stays above all others for long.
  void keep(std::uint64_t hash) { set(hash, kept_s); }
  // The problem shall have none: its sum stays below the threshold for long.
  void refuse(std::uint64_t hash) { set(hash, -kept_s); }
  void clear() {
    Slot* slots = slots_.load(std::memory_order_acquire);
    for (std::size_t i = 0; slots != nullptr && i < slot_count; ++i)
      slots[i].store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t slot_count = 1 << 12;
  using Slot = std::atomic<std::uint64_t>;  // upper half of the hash, and the sum as a float

  static constexpr float kept_s = 1;  // far above the cost of a kernel

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

class SmallKernels {
 public:
  using Kernel = std::shared_ptr<const GemmSmallCpuKernel>;

  SmallKernels();

  // Returns the thread's recent kernel of this key, or null; valid until the thread's next lookup.
  [[gnu::always_inline]] const BoundKernel* recent(const SmallKey& key) const {
    if (recent_ == nullptr) return nullptr;
    const Recent& last = recent_[place_of(key)];
    const bool same = last.owner == owner_.load(std::memory_order_acquire) && last.key.shape == key.shape &&
                      last.key.lda == key.lda && last.key.ldb == key.ldb && last.key.ldc == key.ldc;
    return same ? &last.bound : nullptr;
  }

  // Notes a call of the calling thread. Returns true if it shall run by the kernel for all shapes.
  [[gnu::always_inline]] bool meets_many(const SmallKey& key, std::int64_t multiply_adds) const {
    return variety_.meets_many(unsigned(place_of(key))) && is_fleeting(multiply_adds);
  }

  // Returns the problem's kernel; null while the gain of its calls so far, gain_s() of this one, is less than
  // the cost of making it. make() may throw, or return null if the problem shall have no kernel.
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
  // The same, made if necessary whatever it gains, and owned by the caller.
  template <class Make>
  Kernel obtain(const GemmProblem& p, Make&& make) {
    constexpr double enough_s = 1;
    if (find(
            p, [] { return enough_s; }, make) == nullptr)
      return nullptr;
    return recent_[place_of(small_key(p))].held->kernel;
  }

  // Returns the kernel that find() returned for the problem; null if it was evicted.
  Kernel kept(const GemmProblem& p) { return kernels_.find(small_key(p)); }
  // Makes this the problem's kernel until clear(), whatever it gains.
  void keep(const GemmProblem& p, Kernel kernel);

  // The same for products with one long side.
  [[gnu::always_inline]] const BandKernels* recent(const LongKey& key) const {
    if (recent_long_ == nullptr) return nullptr;
    const RecentLong& last = recent_long_[place_of(key)];
    const bool same = last.owner.get() == owner_.load(std::memory_order_acquire) && last.key == key;
    return same ? &last.bands : nullptr;
  }
  void remember(const LongKey& key, BandKernels bands);

  // For calls that sort the products of sums.
  SumScratches& sum_scratches() { return sum_scratches_; }
  void clear();

 private:
  // The approximate cost of generating one.
  static constexpr float worth_making_s = 150e-6f;
  static constexpr std::size_t largest_bytes = 64 << 20;

  struct Owner {};
  struct Kept;  // the caches of a thread
  struct Held {
    std::shared_ptr<const Owner> owner;  // of a Context, since its last clear()
    Kernel kernel;
  };
  // One cache line, all that a call reads.
  struct alignas(64) Recent {
    SmallKey key;
    const Owner* owner = nullptr;
    BoundKernel bound;
    const Held* held = nullptr;  // keeps owner and kernel alive
  };
  struct RecentLong {
    LongKey key;
    std::shared_ptr<const Owner> owner;
    BandKernels bands;
  };
  struct Hash {
    std::size_t operator()(const SmallKey& key) const { return key.hash(); }
  };

  static constexpr int recent_bits = 6;  // as ShapeVariety counts places
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
  // The calling thread's caches; null before their first use.
  static thread_local constinit Recent* recent_;
  static thread_local constinit RecentLong* recent_long_;
  static thread_local constinit ShapeVariety variety_;
  // The thread's caches are destroyed and stay so.
  static thread_local constinit bool thread_ends_;

  void renew_owner();
  const BoundKernel* remember(const SmallKey& key, const GemmProblem& problem, Kernel kernel);

  Mutex mutex_;
  std::shared_ptr<const Owner> kept_owner_;
  std::atomic<const Owner*> owner_;
  SmallUses uses_;
  SumScratches sum_scratches_;
  BoundedMap<SmallKey, GemmSmallCpuKernel, Hash> kernels_{largest_bytes, kernel_memory_bytes};
};

// Returns the problem as a call looks up its kernel: layout single takes residency from the options alone.
GemmProblem as_called(const GemmProblem& problem, const GemmOptions& options);

// True if a kernel of the family serves calls of a valid problem with one alpha and beta.
bool is_small(const GemmProblem& problem);

// True if calls with these options need no plan.
bool are_default(const GemmOptions& options);

// Lets later calls find the kernel that `runner` runs, if such calls need no plan.
void keep_prepared(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options,
                   const Runner& runner);

}  // namespace tilewright
