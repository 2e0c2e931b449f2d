// The ordered list of what can run a multiplication. Each candidate either declines a problem with a reason
// in words or prepares a plan for it; the first that accepts runs it.
#pragma once

#include <string>
#include <vector>

#include "gemm/plan.hpp"

namespace tilewright {

struct PlanRequest {
  Context::Impl& context;
  const GemmProblem& problem;  // valid, residency resolved
  const GemmOptions& options;
};

struct Candidate {
  const char* name;
  // Why it cannot serve the problem; "" when it can.
  std::string (*declines)(const PlanRequest& request);
  // Fills in what the plan needs to run. May still throw Error(unsupported), which counts as declining. Null
  // for candidates that always decline.
  void (*prepare)(const PlanRequest& request, GemmPlan::Impl& plan);
};

const std::vector<Candidate>& gemm_candidates();

// The config of gemm_small_cpu for a request: the one asked for, else wisdom's, else the default.
struct ConfigChoice {
  GemmSmallCpuConfig config;
  WisdomMatch match = WisdomMatch::none;
  std::string source;
};
ConfigChoice choose_small_config(const PlanRequest& request);

}  // namespace tilewright
