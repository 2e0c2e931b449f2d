// Looks up kernels, makes those that pay, and runs them.
#include "gemm/cpu_small/calls.hpp"

#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"

namespace tilewright {
namespace {

// Estimates the gain of a call by its own kernel: binding the portable one, and a share of its time; more for
// data in memory, because the portable kernel does not prefetch.
double gain_s(const GemmProblem& p) {
  constexpr double binding_s = 40e-9, share = 0.15, share_of_cold = 0.45;
  return binding_s + small_problem_s(p) * double(p.batch_count) *
                         (p.residency == Residency::cold ? share_of_cold : share);
}

// An error, of wisdom for example, does not fail a call that can be served and may be half done.
std::shared_ptr<const GemmSmallCpuKernel> make_own(Context::Impl& context, const GemmProblem& problem,
                                                   const GemmOptions& options) {
  try {
    const auto plan = make_plan(context, problem, options, !context.no_jit);
    return plan->runner == nullptr ? nullptr : plan->runner->small_kernel();
  } catch (const Error& error) {
    if (context.wants_notices)
      context.notice(fmt::format("calls use portable kernels instead: {}", error.what()));
    return nullptr;
  }
}

const BoundKernel* find_own(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options) {
  return context.small->find(
      problem, [&] { return gain_s(problem); }, [&] { return make_own(context, problem, options); });
}

}  // namespace

SmallKernel::SmallKernel(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options) {
  const std::int64_t multiply_adds = problem.m * problem.n * problem.k * problem.batch_count;
  const bool among_many = context.small->meets_many(small_key(problem), multiply_adds);
  const BoundKernel* own = among_many ? nullptr : find_own(context, problem, options);
  if (own == nullptr) cold_.emplace(problem);
  bound_ = own != nullptr ? *own : BoundKernel(problem, *cold_);
}

void run_looked_up(Context::Impl& context, const GemmProblem& p, const PortableProduct& product,
                   KernelCall& call, const GemmOptions& options) {
  if (const BoundKernel* own = find_own(context, p, options)) return own->run(call);
  if (portable_tiles(p.dtype).run_one(product)) return;
  const ColdKernel cold(p);
  BoundKernel(p, cold).run(call);
}

bool run_long(Context::Impl& context, const LongKey& key, const GemmProblem& p, const KernelCall& product,
              const GemmOptions& options) {
  if (is_worth_threads(estimate_s(p), options.threads)) return false;
  const Bands bands = bands_of(p);
  GemmProblem whole = bands.batch(p);
  whole.residency = judged_residency(whole, options);
  const GemmProblem rest = bands.part(p, bands.rest);
  // The second lookup may evict the first kernel from the thread's cache: each runs before the next lookup.
  BandKernels once;
  once.bands = bands;
  const auto run = [&](const GemmProblem& part, BoundKernel& bound, std::int64_t first, std::int64_t count) {
    const SmallKernel kernel(context, part, options);
    bound = kernel.get();
    once.run(product, first, count);
  };
  run(whole, once.run_whole, 0, bands.count);
  if (bands.rest > 0) run(rest, once.run_rest, bands.count, 1);
  SmallKernels& small = *context.small;
  auto of_bands = small.kept(whole), of_rest = bands.rest > 0 ? small.kept(rest) : nullptr;
  if (of_bands != nullptr && (of_rest != nullptr || bands.rest == 0))
    small.remember(key, BandKernels(bands, p, std::move(of_bands), std::move(of_rest)));
  return true;
}

bool run_small(Context::Impl& context, const GemmProblem& described, const Operands& o,
               const GemmOptions& options) {
  if (!is_small(described) || o.alpha_stride != 0 || o.beta_stride != 0 || !are_default(options))
    return false;
  if (o.a == o.c || o.b == o.c) return false;  // plans report the fault
  const GemmProblem p = as_called(described, options);
  if (context.learns && p.batch_count > 1) return false;  // plans learn
  const SmallKernel kernel(context, p, options);
  const SmallBatch batch(p, kernel.get());
  const bool alone = p.batch_count == 1 || options.threads == 1;
  const int threads = alone ? 1 : threads_for(estimate_s(p), options.threads);
  if (threads == 1)
    batch.run(o, 0, p.batch_count);
  else
    share_out(p, o, threads, [&](std::int64_t first, std::int64_t count) { batch.run(o, first, count); });
  return true;
}

}  // namespace tilewright
