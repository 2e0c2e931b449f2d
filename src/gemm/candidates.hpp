// The ordered list of what can run a multiplication. Each candidate either declines a problem with a reason
// in words or prepares a plan for it; the first that accepts runs it.
#pragma once

#include <string>
#include <vector>

#include "core/objective.hpp"
#include "gemm/plan.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

struct PlanRequest {
  Context::Impl& context;
  const GemmProblem& problem;  // valid, residency resolved
  const GemmOptions& options;
  bool may_compile = true;  // GPU kernels; else only what is in memory or on disk serves
};

struct Candidate {
  const char* name;
  // Why it cannot serve the problem; "" when it can.
  std::string (*declines)(const PlanRequest& request);
  // Fills in what the plan needs to run. May still throw Error(unsupported), which counts as declining. Null
  // for candidates that always decline.
  void (*prepare)(const PlanRequest& request, GemmPlan::Impl& plan);
  // What it forms products in; calls of another mode are not its.
  MathMode math_mode = MathMode::full;
};

const std::vector<Candidate>& gemm_candidates();

// What candidates with configs share: the options' JSON object, the refusal of an illegal config with its
// reasons, and the notice about a config that was not measured for the problem or not for the objective, once
// for each such problem.
// What a call minimises. Throws Error(invalid_argument) naming objective_weight.
TuneObjective objective_of(const GemmOptions& options);

// Offers what wisdom has for the call's objective and then, unless that is time, what was searched for time.
// The answer's recorded.objective says which. As Wisdom::offer.
bool offer_wisdom(const PlanRequest& request, const char* family, const std::string& device,
                  const Wisdom::Take& take);

nlohmann::json parse_config(const std::string& text);
void require_legal(const PlanRequest& request, const std::vector<std::string>& reasons);
void notice_match(const PlanRequest& request, WisdomMatch match, const std::string& source,
                  const RecordedTime& recorded, GemmPlan::Impl& plan);

// The config of gemm_small_cpu for a request: the one asked for, else wisdom's, else the default.
struct ConfigChoice {
  GemmSmallCpuConfig config;
  WisdomMatch match = WisdomMatch::none;
  std::string source;
  RecordedTime recorded{};
};
ConfigChoice choose_small_config(const PlanRequest& request);

}  // namespace tilewright
