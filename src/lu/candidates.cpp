// The list of candidates, and who of them serves.
#include "lu/candidates.hpp"

#include <vector>

#include "core/host/fork_gate.hpp"
#include "core/host/stack.hpp"
#include "lu/problem.hpp"
#include "plan/rank.hpp"

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

LuRanking rank_lu(const LuRequest& r, std::span<const LuCandidate> candidates) {
  return at_ease([&] { return rank<LuOperation>(r, candidates); });
}

LuRanking decide_lu(Context& context, const LuProblem& problem, const LuOptions& options,
                    std::span<const LuCandidate> candidates) {
  return ranked_by_record(tuned_lu(context, problem, options), options, [&](const auto& o, bool tuned) {
    return rank_lu({context, problem, o, SplitWay::model, tuned}, candidates);
  });
}

void require_served(const LuRanking& ranking, const LuProblem& problem, const LuOptions& options) {
  if (ranking.winner != nullptr) return;
  throw Error(ErrorCode::unsupported, options.candidate.empty() ? "target" : "candidate",
              fmt::format("no candidate factors {} with target = {}: {}", to_string(problem),
                          to_string(options.target), ranking.reasons()));
}

LuRanking choose_lu(const LuRequest& r) {
  LuRanking ranking = rank_lu(r);
  require_served(ranking, r.problem, r.options);
  return ranking;
}

std::string lu_text(const Explanation& said) {
  std::string text = said.asked + "\n";
  if (said.known.match != WisdomMatch::none) text += "  " + tuned_text(said.known) + "\n";
  if (said.candidate.empty() && !said.does.empty()) text += "  " + said.does + "\n";
  for (const Decision& one : said.decisions)
    text += one.accepted ? fmt::format("  {}: taken; {}\n", one.candidate, said.does)
                         : fmt::format("  {}: not taken; {}\n", one.candidate, one.reason);
  return text;
}

std::string why_not_on_cpu(const LuRequest& r) {
  if (r.options.target == Target::gpu || r.options.target == Target::hybrid)
    return fmt::format("target = {}, and it computes on the CPU alone", to_string(r.options.target));
  return "";
}

}  // namespace tilewright
