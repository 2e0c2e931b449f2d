// A plan in words: what was asked, who could serve it and why not, the config and where it came from, and
// what the machine allows at best.
#include <algorithm>

#include "gemm/kept.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"

namespace tilewright {
namespace {

std::string line(const char* label, const std::string& text) {
  return fmt::format("{:<11}{}\n", label, text);
}

std::string candidates_text(const GemmPlan::Impl& plan) {
  std::string text;
  for (const Decision& decision : plan.decisions)
    text += fmt::format("  {:<14} {}\n", decision.candidate,
                        decision.accepted ? "taken" : "no: " + decision.reason);
  return text;
}

std::string bound_text(const GemmPlan::Impl& plan) {
  const GemmProblem& p = plan.problem;
  std::string text = fmt::format("{:.6g} bytes, {:.6g} flops", bytes(p), flops(p));
  if (const std::string own = plan.runner->bound(); !own.empty()) return text + "; " + own;
  const int threads = plan.runner->thread_count();
  const auto least = kept_bound(p, plan.runner->device(), threads);
  if (!least) return text + "; no ceilings measured yet (tilewright info --measure)";
  const std::string whose = p.location == Location::device
                                ? plan.runner->device()
                                : fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
  return text + fmt::format("; at least {} by {} on {} (ceilings of {})", seconds_text(least->bound.seconds),
                            least->bound.kind, whose, least->time);
}

// When copying the batch to interleaved blocks would pay; the label is the sentence's first word.
std::string conversion_text(const GemmPlan::Impl& plan) {
  const GemmProblem& p = plan.problem;
  const auto costs = load_layout_costs(kept_path(Environment::read()), plan.runner->device());
  return explain_conversion(p, nearest_costs(costs, p));
}

// What was measured of the config when it was recorded, and what the rule of thumb would have cost.
std::string recorded_text(const RecordedTime& recorded, WisdomMatch match) {
  std::string text =
      fmt::format("{} per problem{}, {}", seconds_text(recorded.seconds),
                  match == WisdomMatch::exact ? "" : " of the recorded one", recorded.quality());
  if (const auto regret = recorded.regret())
    text += fmt::format("; regret of the default {:.1f} %", 100 * *regret);
  return text;
}

// Where the config came from.
std::string wisdom_lines(const GemmPlan::Impl& plan) {
  const std::string passed = plan.passed_record.empty() ? "" : "; not the record " + plan.passed_record;
  std::string text =
      line("wisdom", fmt::format("{} ({}{})", to_string(plan.known.match), plan.known.source, passed));
  const RecordedTime& recorded = plan.known.recorded;
  if (plan.known.match != WisdomMatch::none && recorded.objective != to_string(Objective::time))
    text += line("objective", "searched for " + recorded.objective);
  if (recorded.seconds > 0) text += line("recorded", recorded_text(recorded, plan.known.match));
  return text;
}

// One thread is not faster than all that serve.
double least_seconds(const GemmPlan::Impl& plan) {
  double least_s = 0;
  for (const int threads : {1, plan.runner->thread_count()})
    if (const auto least = kept_bound(plan.problem, plan.runner->device(), threads))
      least_s = std::max(least_s, least->bound.seconds);
  return least_s;
}

// What the record of just this problem makes of the batch, on one thread.
std::optional<double> recorded_seconds(const GemmPlan::Impl& plan) {
  const bool tells = plan.known.match == WisdomMatch::exact && plan.problem.location == Location::host &&
                     plan.runner->takes_blocks() && plan.known.recorded.seconds > 0;
  if (!tells) return std::nullopt;
  return std::max(least_seconds(plan), plan.known.recorded.seconds * double(plan.problem.batch_count));
}

std::string prediction_text(const GemmPlan::Impl& plan) {
  if (const auto seconds = recorded_seconds(plan))
    return fmt::format("about {} on one thread (by its record)", seconds_text(*seconds));
  return plan.runner->prediction(least_seconds(plan));
}

}  // namespace

std::optional<double> predicted_seconds(const GemmPlan::Impl& plan) {
  if (const auto seconds = recorded_seconds(plan)) return seconds;
  return plan.runner->predicted_s(least_seconds(plan));
}

std::string explain_plan(const GemmPlan::Impl& plan) {
  const GemmProblem& p = plan.problem;
  std::string text = line("problem", plan.asked);
  text += line("residency", fmt::format("{}, {}", to_string(p.residency), plan.residency_reason));
  text += "candidates\n" + candidates_text(plan);
  if (plan.candidate.empty()) return text + line("plan", "none: no candidate serves this problem");
  const Runner& runner = *plan.runner;
  const std::string library = runner.library();
  text += line("plan", plan.candidate + (library.empty() ? "" : ": " + library));
  text += line("threads", runner.threads_text());
  if (!runner.config().is_null()) {
    text += line("config", runner.config_text());
    if (const std::string kernel = runner.kernel(); !kernel.empty()) text += line("kernel", kernel);
    text += wisdom_lines(plan);
  }
  if (const std::string prediction = prediction_text(plan); !prediction.empty())
    text += line("predicted", prediction);
  text += line("bound", bound_text(plan));
  if (runner.takes_blocks() && p.batch_count > 1 && !has_levels(p))
    text += line("layout", conversion_text(plan));
  for (const std::string& notice : plan.notices) text += line("notice", notice);
  return text;
}

}  // namespace tilewright
