// lu_factor, which validates, decides and lets a candidate run, and what explains the decision.
#include <algorithm>
#include <complex>

#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "lu/device/plan.hpp"
#include "lu/problem.hpp"
#include "lu/validate.hpp"

namespace tilewright {
namespace {

bool is_nothing(const LuProblem& problem) { return problem.m == 0 || problem.n == 0; }

// Of a valid problem on the host; nobody serves where there is nothing to factor.
LuRanking host_ranking(Context& context, const LuProblem& problem, const LuOptions& options,
                       std::span<const LuCandidate> candidates = lu_candidates()) {
  validate_host(options, candidates);
  return is_nothing(problem) ? LuRanking() : decide_lu(context, problem, options, candidates);
}

}  // namespace

std::string explain_lu(Context& context, const LuProblem& problem, const LuOptions& options) {
  return lu_text(lu_explanation(context, problem, options));
}

Explanation lu_explanation(Context& context, const LuProblem& problem, const LuOptions& options,
                           std::span<const LuCandidate> candidates) {
  validate(problem);
  if (problem.location == Location::device) return device_lu_explanation(context, problem, options);
  LuRanking ranking = host_ranking(context, problem, options, candidates);
  ranking.asked = to_string(problem);
  if (is_nothing(problem)) ranking.does = "nothing to factor";
  if (const LuRunner* const runner = ranking.made.runner.get())
    ranking.does = runner->describe(), ranking.predicted_s = runner->predicted_s();
  return ranking;
}

std::string lu_candidate(Context& context, const LuProblem& problem, const LuOptions& options) {
  validate(problem);
  if (problem.location == Location::device)
    return device_lu_candidates().empty() ? "" : device_lu_explanation(context, problem, options).candidate;
  return host_ranking(context, problem, options).candidate;
}

bool lu_uses_gpus(Context& context, const LuProblem& problem, const LuOptions& options) {
  if (problem.location == Location::device) return !lu_candidate(context, problem, options).empty();
  validate(problem);
  const LuRanking ranking = host_ranking(context, problem, options);
  return ranking.winner != nullptr && ranking.made.runner->uses_gpus();
}

template <class T>
LuReport lu_factor(Context& context, std::int64_t m, std::int64_t n, T* a, std::int64_t lda,
                   std::int64_t* pivots, const LuOptions& options) {
  const LuProblem problem{dtype_of<T>, m, n, lda};
  validate(problem);
  validate(LuMatrix{"a", a, m, n, "lda", lda, dtype_of<T>});
  validate_host(options);
  if (std::min(m, n) == 0) return {};
  if (pivots == nullptr) throw Error(ErrorCode::invalid_argument, "pivots", "pivots is null");
  const LuRanking decided = decide_lu(context, problem, options);
  require_served(decided, problem, options);
  LuReport report = decided.made.runner->factor(a, pivots);
  if (report.candidate.empty()) report.candidate = decided.candidate;
  return report;
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                    \
  template LuReport lu_factor(Context&, std::int64_t, std::int64_t, T*, std::int64_t, std::int64_t*, \
                              const LuOptions&);
TILEWRIGHT_INSTANTIATE(float)
TILEWRIGHT_INSTANTIATE(double)
TILEWRIGHT_INSTANTIATE(std::complex<float>)
TILEWRIGHT_INSTANTIATE(std::complex<double>)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
