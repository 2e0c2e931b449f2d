// The list of candidates, and who of them serves.
#include "lu/candidates.hpp"

#include <vector>

#include "core/host/fork_gate.hpp"
#include "core/host/stack.hpp"
#include "lu/problem.hpp"

namespace tilewright {

std::span<const LuCandidate> lu_candidates() {
  static constinit Once<const std::vector<LuCandidate>> once;
  return once.get([] {
    return std::vector<LuCandidate> {
#if TILEWRIGHT_HAS_GPU
      streamed_lu,
#endif
          lapack_lu, blocked_lu, reference_lu
    };
  });
}

std::vector<LuDecision> decide_lu(const LuRequest& r) {
  std::vector<LuDecision> decisions;
  for (const LuCandidate& candidate : lu_candidates()) {
    if (!r.options.candidate.empty() && r.options.candidate != candidate.name) continue;
    decisions.push_back({&candidate, candidate.declines(r)});
    if (decisions.back().reason.empty()) break;
  }
  return decisions;
}

const LuCandidate* LuChoice::candidate() const {
  const bool serves = !decisions.empty() && decisions.back().reason.empty();
  return serves ? decisions.back().candidate : nullptr;
}

LuChoice decide_lu(Context& context, const LuProblem& problem, const LuOptions& options) {
  return at_ease([&]() -> LuChoice {
    if (auto tuned = tuned_lu(context, problem, options)) {
      LuChoice choice{
          tuned, {context, problem, with_config(options, tuned->config), SplitWay::model, true}, {}};
      choice.decisions = decide_lu(choice.request);
      if (choice.candidate() != nullptr) return choice;
    }
    LuChoice choice{std::nullopt, {context, problem, options}, {}};
    choice.decisions = decide_lu(choice.request);
    return choice;
  });
}

const LuCandidate& served_lu(const LuRequest& r, const std::vector<LuDecision>& decisions) {
  if (decisions.back().reason.empty()) return *decisions.back().candidate;
  std::string reasons;
  for (const LuDecision& d : decisions) reasons += fmt::format("; {}: {}", d.candidate->name, d.reason);
  throw Error(ErrorCode::unsupported, r.options.candidate.empty() ? "target" : "candidate",
              fmt::format("no candidate factors {} with target = {}{}", to_string(r.problem),
                          to_string(r.options.target), reasons));
}

const LuCandidate& choose_lu(const LuRequest& r) {
  return served_lu(r, at_ease([&] { return decide_lu(r); }));
}

std::string why_not_on_cpu(const LuRequest& r) {
  if (r.options.target == Target::gpu || r.options.target == Target::hybrid)
    return fmt::format("target = {}, and it computes on the CPU alone", to_string(r.options.target));
  return "";
}

}  // namespace tilewright
