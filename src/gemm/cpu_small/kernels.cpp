// The caches of threads, eviction, and which calls need no plan.
#include "gemm/cpu_small/kernels.hpp"

#include <mutex>
#include <new>
#include <vector>

#include "core/per_thread.hpp"
#include "device/team.hpp"
#include "gemm/run/host.hpp"

namespace tilewright {

SmallKernels::SmallKernels() : kept_owner_(std::make_shared<const Owner>()), owner_(kept_owner_.get()) {}

thread_local constinit SmallKernels::Recent* SmallKernels::recent_ = nullptr;
thread_local constinit SmallKernels::RecentLong* SmallKernels::recent_long_ = nullptr;
thread_local constinit ShapeVariety SmallKernels::variety_;
thread_local constinit bool SmallKernels::thread_ends_ = false;

// An owner that an entry holds is not deleted, so that no other Context gets its address. The cache is on the
// heap: thread-local data take space from the stacks of all threads, which may be 16 KiB.
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

// All cached kernels of threads are dropped with those of this problem.
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

GemmProblem as_called(const GemmProblem& problem, const GemmOptions& options) {
  GemmProblem p = problem;
  if (p.layout != Layout::single)
    p.residency = judged_residency(p, options);
  else if (options.residency != Residency::automatic)
    p.residency = options.residency;
  return p;
}

bool is_small(const GemmProblem& p) {
  const bool layout =
      p.layout == Layout::single || p.layout == Layout::strided || p.layout == Layout::pointer;
  return layout && p.sums == Sums::none && p.location == Location::host && p.alpha != Scalar::zero &&
         are_small_sizes(p) && p.batch_count > 0;
}

// The object is made in place, because there may be no memory, and is never destroyed.
const GemmOptions& default_options() noexcept {
  alignas(GemmOptions) static constinit std::byte room[sizeof(GemmOptions)]{};
  static constinit std::atomic<const GemmOptions*> made = nullptr;
  static constinit Mutex mutex;
  if (const GemmOptions* defaults = made.load(std::memory_order_acquire)) [[likely]]
    return *defaults;
  const std::lock_guard lock(mutex);
  if (made.load() == nullptr) made.store(new (room) GemmOptions());
  return *made.load();
}

bool are_default(const GemmOptions& o) {
  const GemmOptions& defaults = default_options();
  if (&o == &defaults) return true;
  return (o.target == Target::automatic || o.target == Target::cpu) && o.objective == defaults.objective &&
         o.math_mode == defaults.math_mode && o.split == defaults.split && o.threads >= 0 &&
         o.threads <= most_threads && !o.checked && !o.objective_weight && o.candidate.empty() &&
         o.config.empty() && o.tune_on_miss_s == 0 && !o.cpu_share && o.gpus.empty() &&
         o.gpu_memory_bytes == 0 && o.queue.stream == nullptr && o.align_bytes == 0 && o.queue.device >= 0 &&
         o.residency <= Residency::l1 && o.arrival == defaults.arrival &&
         o.on_device_failure == defaults.on_device_failure && o.learn == defaults.learn;
}

void keep_prepared(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options,
                   const Runner& runner) {
  if (!is_small(problem) || problem.arrival != options.arrival || !are_default(options)) return;
  if (auto kernel = runner.small_kernel())
    context.small->keep(as_called(problem, options), std::move(kernel));
}

}  // namespace tilewright
