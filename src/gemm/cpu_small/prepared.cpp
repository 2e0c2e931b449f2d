// What calls without a plan look for.
#include "gemm/cpu_small/prepared.hpp"

#include <atomic>
#include <mutex>
#include <new>

#include "core/host/fork_gate.hpp"
#include "device/team.hpp"
#include "gemm/cpu_small/kernels.hpp"
#include "gemm/run/host.hpp"

namespace tilewright {

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

// Made in place, since there may be no memory, and never destroyed.
const GemmOptions& default_options() noexcept {
  alignas(GemmOptions) static constinit std::byte room[sizeof(GemmOptions)]{};
  static constinit std::atomic<const GemmOptions*> made = nullptr;
  static constinit Mutex mutex;
  if (const GemmOptions* usual = made.load(std::memory_order_acquire)) [[likely]]
    return *usual;
  const std::lock_guard lock(mutex);
  if (made.load() == nullptr) made.store(new (room) GemmOptions());
  return *made.load();
}

bool are_usual(const GemmOptions& o) {
  const GemmOptions& usual = default_options();
  if (&o == &usual) return true;
  return (o.target == Target::automatic || o.target == Target::cpu) && o.objective == usual.objective &&
         o.math_mode == usual.math_mode && o.split == usual.split && o.threads >= 0 &&
         o.threads <= most_threads && !o.checked && !o.objective_weight && o.candidate.empty() &&
         o.config.empty() && o.tune_on_miss.budget_s == 0 && !o.cpu_share && o.gpus.empty() &&
         o.gpu_memory_bytes == 0 && o.queue.stream == nullptr && o.align_bytes == 0 && o.queue.device >= 0 &&
         o.residency <= Residency::l1 && o.on_device_failure == usual.on_device_failure;
}

void keep_prepared(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options,
                   const Runner& runner) {
  if (!is_small(problem) || !are_usual(options)) return;
  if (auto kernel = runner.small_kernel())
    context.small->keep(as_called(problem, options), std::move(kernel));
}

}  // namespace tilewright
