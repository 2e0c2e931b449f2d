// explain_lu and lu_candidate: what each candidate says of a problem, and which one serves it.
#include "lu/candidates.hpp"
#include "lu/problem.hpp"
#include "lu/validate.hpp"

namespace tilewright {

std::string explain_lu(Context& context, const LuProblem& problem, const LuOptions& options) {
  validate(problem);
  validate_host(options);
  const LuRequest request{context, problem, options};
  std::string text = to_string(problem) + "\n";
  if (problem.m == 0 || problem.n == 0) return text + "  nothing to factor\n";
  for (const LuDecision& d : decide_lu(request))
    text += d.reason.empty()
                ? fmt::format("  {}: taken; {}\n", d.candidate->name, d.candidate->describe(request))
                : fmt::format("  {}: not taken; {}\n", d.candidate->name, d.reason);
  return text;
}

std::string lu_candidate(Context& context, const LuProblem& problem, const LuOptions& options) {
  validate(problem);
  validate_host(options);
  if (problem.m == 0 || problem.n == 0) return "";
  const auto decisions = decide_lu({context, problem, options});
  return decisions.back().reason.empty() ? decisions.back().candidate->name : "";
}

}  // namespace tilewright
