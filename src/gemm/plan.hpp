// What a plan consists of, and how it is made: the problem, the candidate that serves it with the reasons of
// those that do not, and what that candidate needs to run. Running is execute.hpp's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/run/runner.hpp"

namespace tilewright {

// What one candidate said about the problem.
struct Decision {
  std::string candidate;
  bool accepted = false;
  std::string reason;
};

// Runs problems first ... first + count - 1 of a batch on the calling thread.
using RangeRunner = void (*)(const GemmPlan::Impl& plan, const Operands& operands, std::int64_t first,
                             std::int64_t count);

struct GemmPlan::Impl {
  GemmProblem problem;  // residency resolved
  Residency asked_residency = Residency::automatic;
  int threads = 0;          // as asked for; 0 = OpenMP's default
  bool sequential = false;  // too little work for a second thread, or one was asked for
  std::string candidate;    // the one that serves the problem; "" = none does
  std::vector<Decision> decisions;
  std::vector<std::string> notices;
  std::string residency_reason;
  std::string passed_over;  // why no_jit kept a better kernel from it; "" where it did not

  RangeRunner run_range = nullptr;

  // Of the candidates that have a config.
  WisdomMatch match = WisdomMatch::none;
  std::string config_source;
  RecordedTime recorded;  // of the record that the config came from

  // gemm_small_cpu only.
  std::shared_ptr<const GemmSmallCpuKernel> kernel;
  GemmSmallCpuFunction function = nullptr;  // of the kernel, one load closer
  GemmSmallCpuArguments arguments;          // strides and self; addresses are filled per call
  std::shared_ptr<KernelCache> kernels;

  // Operands on a GPU: everything that a run needs, else null.
  std::shared_ptr<const GpuRunner> gpu;

  // cblas only.
  std::shared_ptr<const CblasLibrary> cblas;
};

// `may_compile` is about GPU kernels. Never throws for a valid problem that no candidate serves; the result
// then has an empty candidate. Throws Error(invalid_argument) for bad fields and options, Error(unsupported)
// for targets not built.
std::shared_ptr<const GemmPlan::Impl> make_plan(Context::Impl& context, const GemmProblem& problem,
                                                const GemmOptions& options, bool may_compile);

// The same through the Context's plan cache, throwing Error(unsupported) with all reasons when no candidate
// serves it.
std::shared_ptr<const GemmPlan::Impl> find_plan(Context::Impl& context, const GemmProblem& problem,
                                                const GemmOptions& options);

// Seconds that one thread would need, from round numbers of a current core: good enough to decide about
// threads.
double estimate_s(const GemmProblem& problem);

// Work below which one thread serves a call. A parallel region costs about 1.4 us while OpenMP's threads
// still spin from the last one and about 25 us when they have gone to sleep (2 cores, GCC's runtime).
// Unasked, a second thread must pay nearly always; a caller who names a thread count gets it as soon as it
// pays for spinning threads.
inline double parallel_worth_s(const GemmOptions& options) { return options.threads > 1 ? 3e-6 : 20e-6; }

std::string explain_plan(const GemmPlan::Impl& plan);

}  // namespace tilewright
