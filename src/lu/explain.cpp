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
  all.tuned = serving_record(context, problem, options);
  if (all.is_nothing) return all;
  const LuOptions chosen = all.tuned ? with_config(options, all.tuned->config) : options;
  const LuRequest request{context, problem, chosen, SplitWay::model, all.tuned.has_value()};
  for (const LuDecision& d : decide_lu(request)) {
    const bool serves = d.reason.empty();
    all.said.push_back({d.candidate->name, d.reason, serves ? d.candidate->describe(request) : ""});
    if (serves && d.candidate->predict != nullptr) all.predicted_s = d.candidate->predict(request);
  }
  return all;
}

std::string lu_candidate(Context& context, const LuProblem& problem, const LuOptions& options) {
  validate(problem);
  if (problem.location == Location::device) return device_lu_candidate(context, problem, options);
  validate_host(options);
  if (problem.m == 0 || problem.n == 0) return "";
  if (const auto tuned = serving_record(context, problem, options)) return tuned->config.candidate;
  const auto decisions = decide_lu({context, problem, options});
  return decisions.back().reason.empty() ? decisions.back().candidate->name : "";
}

}  // namespace tilewright
