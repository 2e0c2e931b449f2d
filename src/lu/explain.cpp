// explain_lu and lu_candidate: what each candidate says of a problem, and which one serves it.
#include "lu/explain.hpp"

#include "lu/candidates.hpp"
#include "lu/device/plan.hpp"
#include "lu/problem.hpp"
#include "lu/validate.hpp"

namespace tilewright {

std::string explain_lu(Context& context, const LuProblem& problem, const LuOptions& options) {
  return lu_explanation(context, problem, options).text();
}

LuExplanation lu_explanation(Context& context, const LuProblem& problem, const LuOptions& options) {
  validate(problem);
  if (problem.location == Location::device) return device_lu_explanation(context, problem, options);
  validate_host(options);
  LuExplanation all;
  all.problem = to_string(problem);
  all.is_nothing = problem.m == 0 || problem.n == 0;
  if (all.is_nothing) return all;
  const LuChoice choice = decide_lu(context, problem, options);
  all.tuned = choice.tuned;
  for (const LuDecision& d : choice.decisions) {
    const bool serves = d.reason.empty();
    all.said.push_back({d.candidate->name, d.reason, serves ? d.candidate->describe(choice.request) : ""});
    if (serves && d.candidate->predict != nullptr) all.predicted_s = d.candidate->predict(choice.request);
  }
  return all;
}

namespace {

// The candidate that factors a valid problem on the host; null where there is nothing to factor or nothing
// serves.
const LuCandidate* serving_candidate(Context& context, const LuProblem& problem, const LuOptions& options) {
  validate_host(options);
  if (problem.m == 0 || problem.n == 0) return nullptr;
  return decide_lu(context, problem, options).candidate();
}

}  // namespace

std::string lu_candidate(Context& context, const LuProblem& problem, const LuOptions& options) {
  validate(problem);
  if (problem.location == Location::device) return device_lu_candidate(context, problem, options);
  const LuCandidate* const serves = serving_candidate(context, problem, options);
  return serves == nullptr ? "" : serves->name;
}

bool lu_uses_gpus(Context& context, const LuProblem& problem, const LuOptions& options) {
  validate(problem);
  if (problem.location == Location::device) return !device_lu_candidate(context, problem, options).empty();
  const LuCandidate* const serves = serving_candidate(context, problem, options);
  return serves != nullptr && serves->uses_gpus;
}

}  // namespace tilewright
