// What a plan consists of, and how it is made: the problem, the candidate that serves it with the reasons of
// those that do not, and the runner that the candidate made. Running is execute.hpp's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"

namespace tilewright {

struct GemmPlan::Impl : Explanation {
  GemmProblem problem;                   // residency resolved
  std::shared_ptr<const Runner> runner;  // null: no candidate serves the problem
  std::string residency_reason;
};

// Throws Error for options that no call can have, whatever it multiplies, naming the option and its value; of
// operands on the host, for a stream.
void check_options(const Context::Impl& context, const GemmOptions& options);
void check_call_options(const Context::Impl& context, const GemmOptions& options, Location location);

// `may_compile` is about GPU kernels, `shares_configs` PlanRequest's. Never throws for a valid problem that
// no candidate serves; the result then has an empty candidate. Throws Error(invalid_argument) for bad fields
// and options, Error(unsupported) for targets not built.
std::shared_ptr<const GemmPlan::Impl> make_plan(Context::Impl& context, const GemmProblem& problem,
                                                const GemmOptions& options, bool may_compile,
                                                bool shares_configs = false);

// The same through the Context's plan cache, throwing Error(unsupported) with all reasons when no candidate
// serves it.
std::shared_ptr<const GemmPlan::Impl> find_plan(Context::Impl& context, const GemmProblem& problem,
                                                const GemmOptions& options);

std::string explain_plan(const GemmPlan::Impl& plan);

// Seconds of the whole batch that explain_plan predicts; nothing where no model says them. The plan has a
// runner.
std::optional<double> predicted_seconds(const GemmPlan::Impl& plan);

}  // namespace tilewright
