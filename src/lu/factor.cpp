// lu_factor: validates, decides by a record or the options which candidate runs, and explains the decision.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/dispatch.hpp"
#include "core/host/fork_gate.hpp"
#include "core/host/stack.hpp"
#include "device/cpu.hpp"
#include "device/profiler_range.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"
#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "lu/device/plan.hpp"
#include "lu/validate.hpp"
#include "plan/nearest.hpp"
#include "plan/rank.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/gpu.hpp"
#endif

namespace tilewright {
namespace {

double distance(const LuProblem& x, const LuProblem& y) {
  const auto apart = [](std::int64_t a, std::int64_t b) {
    return std::fabs(std::log(double(a) / double(b)));
  };
  return apart(x.m, y.m) + apart(x.n, y.n);
}

bool is_nothing(const LuProblem& problem) { return problem.m == 0 || problem.n == 0; }

// Ranks for a valid problem on the host; none serves if there is nothing to factor.
LuRanking host_ranking(Context& context, const LuProblem& problem, const LuOptions& options,
                       std::span<const LuCandidate> candidates = lu_candidates()) {
  validate_host(options, candidates);
  return is_nothing(problem) ? LuRanking() : decide_lu(context, problem, options, candidates);
}

}  // namespace

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
    return rank_lu({context, problem, o, SplitRule::model, tuned}, candidates);
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
  return text + said.decisions_text();
}

std::string why_not_on_cpu(const LuRequest& r) {
  if (r.options.target == Target::gpu || r.options.target == Target::hybrid)
    return fmt::format("runs on the CPU only, but target = {}", to_string(r.options.target));
  return "";
}

std::string tuned_text(const WisdomAnswer& record) {
  const auto config = from_json<LuConfig>(record.config);
  return fmt::format("wisdom ({}, {}, of {}): {}{}", to_string(record.match), record.source, record.problem,
                     config.candidate, config.nb > 0 ? fmt::format(" with nb={}", config.nb) : "");
}

std::string lu_device_name(Context& context, const LuProblem& problem, [[maybe_unused]] int gpu) {
#if TILEWRIGHT_HAS_GPU
  if (problem.location == Location::device) return Gpu::limits_of(gpu).name;
#endif
  std::string name = cpu_info().device;
  if (problem.location == Location::host)
    for (const auto& one : Access::impl(context).hybrid->gpus()) name += " + " + one.name;
  return name;
}

WisdomAnswer tuned_lu(Context& context, const LuProblem& problem, const LuOptions& o) {
  const Wisdom* wisdom = Access::impl(context).wisdom();
  const bool is_open = o.candidate.empty() && o.nb == 0 && o.target == Target::automatic && o.gpus.empty();
  if (wisdom == nullptr || !is_open || problem.m == 0 || problem.n == 0) return {};
  if (problem.location == Location::host && flops(problem) < least_tuned_flops) return {};
  return at_ease([&] {
    WisdomAnswer best;
    if (wisdom->records_of("lu")->empty()) return best;
    const auto away = [&](const std::string& text) -> std::optional<double> {
      const LuProblem known = parse_lu_problem(text);
      const double apart = distance(known, problem);
      const bool is_near = apart < shape_radius && known.dtype == problem.dtype;
      return is_near && known.location == problem.location ? std::optional(apart) : std::nullopt;
    };
    offer_nearest(*wisdom, "lu", lu_device_name(context, problem, o.device), "time", away,
                  [&](WisdomAnswer answer) {
                    try {
                      answer.config = to_json(from_json<LuConfig>(answer.config));
                    } catch (const Error&) {
                      return false;  // written by another version
                    }
                    best = std::move(answer);
                    return true;
                  });
    return best;
  });
}

LuOptions with_config(LuOptions options, const LuConfig& config) {
  options.candidate = config.candidate;
  options.nb = config.nb;
  return options;
}

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
  const ProfilerRange range(
      [&] { return decided.made.runner->uses_gpus(); },
      [&] { return fmt::format("tilewright {}: {}", decided.candidate, to_string(problem)); });
  LuReport report = decided.made.runner->factor(a, pivots);
  if (report.candidate.empty()) report.candidate = decided.candidate;
  return report;
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                    \
  template LuReport lu_factor(Context&, std::int64_t, std::int64_t, T*, std::int64_t, std::int64_t*, \
                              const LuOptions&);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
