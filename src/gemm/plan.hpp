// Plans of products: made, looked up, explained and run. A plan is a problem, the candidate that serves it
// with the reasons of those that do not, and the candidate's runner.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"

namespace tilewright {

struct GemmPlan::Impl : Explanation {
  GemmProblem problem;                   // residency resolved
  std::shared_ptr<const Runner> runner;  // null: no candidate serves the problem
  std::string residency_reason;
};

// Throws Error with option and value if no call can have it; for operands on the host, also for a stream.
void check_options(const Context::Impl& context, const GemmOptions& options);
void check_call_options(const Context::Impl& context, const GemmOptions& options, Location location);

// If no candidate serves a valid problem, the result has no candidate. Throws Error(invalid_argument) for bad
// fields and options, Error(unsupported) for targets that are not built. The flags are PlanRequest's.
std::shared_ptr<const GemmPlan::Impl> make_plan(Context::Impl& context, const GemmProblem& problem,
                                                const GemmOptions& options, bool may_compile,
                                                bool shares_configs = false, bool learns = false);

// Finds the plan in the Context's cache or makes it. Error(unsupported) has all candidates' reasons.
std::shared_ptr<const GemmPlan::Impl> find_plan(Context::Impl& context, const GemmProblem& problem,
                                                const GemmOptions& options);

std::string explain_plan(const GemmPlan::Impl& plan);
// The same in two parts: what runs and how fast it is, and what every candidate said.
std::string verdict_text(const GemmPlan::Impl& plan);
std::string candidates_text(const GemmPlan::Impl& plan);

// Returns the whole batch's seconds that explain_plan predicts, if there is a model. The plan has a runner.
std::optional<double> predicted_seconds(const GemmPlan::Impl& plan);

// Runs the batch. Throws as check(), and Error(invalid_argument) if alpha or beta is of another class.
void execute(const GemmPlan::Impl& plan, const Operands& operands);
// The two halves of execute(): one checks alpha, beta and addresses, the other runs.
void check_call(const GemmPlan::Impl& plan, const Operands& operands);
void execute_checked(const GemmPlan::Impl& plan, const Operands& operands);

// True if a call with these values is one kernel call on the calling thread. General values of 0 are not,
// because a kernel for general beta may read C.
template <class T>
bool is_one_kernel_call(const GemmPlan::Impl& plan, const T& alpha, const T& beta) {
  const auto fits = [](Scalar kind, const T& value) {
    return kind == Scalar::general ? value != T(0) : value == T(kind == Scalar::one);
  };
  return plan.runner->direct_call().kernel != nullptr && fits(plan.problem.alpha, alpha) &&
         fits(plan.problem.beta, beta);
}
// Makes that call; the operands hold one alpha and one beta.
inline void call_kernel(const GemmPlan::Impl& plan, const void* a, const void* b, void* c, const void* alpha,
                        const void* beta) {
  const DirectCall& direct = plan.runner->direct_call();
  KernelCall call = direct.call;
  call.at(a, b, c).scaled(alpha, beta).run(*direct.kernel);
}

// Tune-on-miss: a call that asks for it and finds no exact record has the Context's tuner make one.

inline bool tunes_on_miss(const GemmOptions& options) {
  return options.tune_on_miss_s != 0 && options.config.empty();
}
// Tunes the problem unless this Context has done so, and adds the result to wisdom.
void tune_missing(const PlanRequest& request);

}  // namespace tilewright
