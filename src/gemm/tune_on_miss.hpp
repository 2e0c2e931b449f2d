// Tune-on-miss: when a call that asks for it meets a problem without an exact record, the tuner that was
// handed to the Context is asked to make one. No tuner is known here; the hook is all there is.
#pragma once

#include "gemm/candidate.hpp"

namespace tilewright {

// What an exact record of `problem` is measured on: not its batch count, leading dimensions, strides, alpha.
GemmProblem problem_to_tune(const GemmProblem& problem);

// Throws Error(invalid_argument) for a budget that is none, Error(unsupported) where tuning is asked for and
// the Context has no tuner or no wisdom to keep the result in, or the operands lie on a GPU.
void check_tune_on_miss(const Context::Impl& context, const GemmProblem& problem, const GemmOptions& options);

// Whether the options ask for tuning where wisdom has no exact record.
inline bool tunes_on_miss(const GemmOptions& options) {
  return options.tune_on_miss.budget_s != 0 && options.config.empty();
}
// Tunes the problem unless this Context has done so; wisdom then knows what was found.
void tune_missing(const PlanRequest& request);

}  // namespace tilewright
