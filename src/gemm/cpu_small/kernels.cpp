// What threads keep at hand, and forgetting.
#include "gemm/cpu_small/kernels.hpp"

#include <vector>

#include "core/per_thread.hpp"

namespace tilewright {

SmallKernels::SmallKernels() : kept_owner_(std::make_shared<const Owner>()), owner_(kept_owner_.get()) {}

thread_local constinit SmallKernels::Recent* SmallKernels::recent_ = nullptr;
thread_local constinit SmallKernels::RecentLong* SmallKernels::recent_long_ = nullptr;
thread_local constinit bool SmallKernels::thread_ends_ = false;

// An owner that is held by one of these is not deleted, so that none of another Context has its address. On
// the heap: what is thread-local itself is taken from the stacks of all threads, which may be as small as 16
// KiB.
struct SmallKernels::Kept {
  std::vector<Recent> all{std::size_t(1) << recent_bits};
  std::vector<Held> held{std::size_t(1) << recent_bits};
  std::vector<RecentLong> long_ones{std::size_t(1) << recent_long_bits};

  Kept() { recent_ = all.data(), recent_long_ = long_ones.data(); }
  ~Kept() { recent_ = nullptr, recent_long_ = nullptr, thread_ends_ = true; }
  static Kept& of_thread() { return PerThread<Kept>::own(); }
};

const BoundKernel* SmallKernels::remember(const SmallKey& key, const GemmProblem& problem, Kernel kernel) {
  Kept& kept = Kept::of_thread();
  const std::size_t place = place_of(key);
  const BoundKernel bound(problem, *kernel);
  std::lock_guard lock(mutex_);
  kept.held[place] = {kept_owner_, std::move(kernel)};
  kept.all[place] = {key, kept_owner_.get(), bound, &kept.held[place]};
  return &kept.all[place].bound;
}

void SmallKernels::remember(const LongKey& key, BandKernels bands) {
  if (thread_ends_) return;
  RecentLong& last = Kept::of_thread().long_ones[place_of(key)];
  std::lock_guard lock(mutex_);
  last = {key, kept_owner_, std::move(bands)};
}

// What threads have at hand of this problem gives way with all else.
void SmallKernels::keep(const GemmProblem& p, Kernel kernel) {
  const SmallKey key = small_key(p);
  kernels_.keep(key, std::move(kernel));
  uses_.keep(key.hash());
  renew_owner();
}

void SmallKernels::renew_owner() {
  std::lock_guard lock(mutex_);
  kept_owner_ = std::make_shared<const Owner>();
  owner_ = kept_owner_.get();
}

void SmallKernels::clear() {
  renew_owner();
  uses_.clear();
  kernels_.erase_if([](const GemmSmallCpuKernel&) { return true; });
}

}  // namespace tilewright
