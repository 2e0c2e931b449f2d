// explain_lu and lu_candidate: what each candidate says of a problem, and which one serves it.
#include "lu/candidates.hpp"
#include "lu/device/plan.hpp"
#include "lu/problem.hpp"
#include "lu/validate.hpp"

namespace tilewright {

std::string explain_lu(Context& context, const LuProblem& problem, const LuOptions& options) {
  validate(problem);
  if (problem.location == Location::device) return device_lu_text(context, problem, options);
  validate_host(options);
  const auto tuned = serving_record(context, problem, options);
  const LuOptions chosen = tuned ? with_config(options, tuned->config) : options;
  const LuRequest request{context, problem, chosen, SplitWay::model, tuned.has_value()};
  std::string text = to_string(problem) + "\n";
  if (tuned) text += "  " + tuned->text() + "\n";
  if (problem.m == 0 || problem.n == 0) return text + "  nothing to factor\n";
  for (const LuDecision& d : decide_lu(request))
    text += d.reason.empty()
                ? fmt::format("  {}: taken; {}\n", d.candidate->name, d.candidate->describe(request))
                : fmt::format("  {}: not taken; {}\n", d.candidate->name, d.reason);
  return text;
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
