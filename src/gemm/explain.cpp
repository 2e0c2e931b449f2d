// Explains a plan: what runs, how fast it is, the config and its source, and why other candidates decline.
#include <algorithm>

#include "gemm/kept.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"

namespace tilewright {
namespace {

std::string line(const char* label, const std::string& text) {
  return fmt::format("{:<11}{}\n", label, text);
}

std::string bound_text(const GemmPlan::Impl& plan) {
  const GemmProblem& p = plan.problem;
  std::string text = fmt::format("{}, {}", bytes_text(bytes(p)), flops_text(flops(p)));
  if (const std::string own = plan.runner->bound(); !own.empty()) return text + "; " + own;
  const int threads = plan.runner->thread_count();
  const auto least = kept_bound(p, plan.runner->device(), threads);
  if (!least) return text + "; no ceilings measured yet (tilewright info --measure)";
  const std::string whose =
      p.location == Location::device ? plan.runner->device() : counted(threads, "thread");
  return text + fmt::format("; at least {} by {} on {} (ceilings of {})", seconds_text(least->bound.seconds),
                            least->bound.kind, whose, least->time);
}

// Says when converting the batch to interleaved blocks pays; the label is the first word of the sentence.
std::string conversion_text(const GemmPlan::Impl& plan) {
  const GemmProblem& p = plan.problem;
  const auto costs = load_layout_costs(kept_path(Environment::read()), plan.runner->device());
  return explain_conversion(p, nearest_costs(costs, p));
}

// Says what was measured of the config when it was recorded, and of the default.
std::string recorded_text(const RecordedTime& recorded, WisdomMatch match) {
  std::string text =
      fmt::format("{} per problem{}, {}", seconds_text(recorded.seconds),
                  match == WisdomMatch::exact ? "" : " of the recorded one", recorded.quality());
  if (const auto regret = recorded.regret())
    text += fmt::format("; regret of the default {:.1f} %", 100 * *regret);
  return text;
}

// Lines about the config's source.
std::string wisdom_lines(const GemmPlan::Impl& plan) {
  const std::string passed =
      plan.passed_record.empty() ? "" : "; the nearest record is not used: " + plan.passed_record;
  std::string text =
      line("wisdom", fmt::format("{} ({}{})", to_string(plan.known.match), plan.known.source, passed));
  const RecordedTime& recorded = plan.known.recorded;
  if (plan.known.match != WisdomMatch::none && recorded.objective != to_string(Objective::time))
    text += line("objective", "searched for " + recorded.objective);
  if (plan.known.match != WisdomMatch::none && plan.problem.arrival != Arrival::back_to_back)
    text += line("arrival", fmt::format("{}; the record was timed {}", to_string(plan.problem.arrival),
                                        to_string(parse_problem(plan.known.problem).arrival)));
  if (recorded.seconds > 0) text += line("recorded", recorded_text(recorded, plan.known.match));
  return text;
}

// Returns the bound of one thread and of all: one thread is not faster.
double least_seconds(const GemmPlan::Impl& plan) {
  double least_s = 0;
  for (const int threads : {1, plan.runner->thread_count()})
    if (const auto least = kept_bound(plan.problem, plan.runner->device(), threads))
      least_s = std::max(least_s, least->bound.seconds);
  return least_s;
}

// Returns the seconds of the batch on one thread by the exact record of the problem.
std::optional<double> recorded_seconds(const GemmPlan::Impl& plan) {
  const bool tells = plan.known.match == WisdomMatch::exact && plan.problem.location == Location::host &&
                     plan.runner->takes_blocks() && plan.known.recorded.seconds > 0;
  if (!tells) return std::nullopt;
  return std::max(least_seconds(plan), plan.known.recorded.seconds * double(plan.problem.batch_count));
}

std::string prediction_text(const GemmPlan::Impl& plan) {
  if (const auto seconds = recorded_seconds(plan))
    return fmt::format(
        "about {} on one thread ({})", seconds_text(*seconds),
        *seconds > least_seconds(plan) ? "by its record" : "the bound; its record is no longer");
  return plan.runner->prediction(least_seconds(plan));
}

}  // namespace

std::optional<double> predicted_seconds(const GemmPlan::Impl& plan) {
  if (const auto seconds = recorded_seconds(plan)) return seconds;
  return plan.runner->predicted_s(least_seconds(plan));
}

std::string candidates_text(const GemmPlan::Impl& plan) { return "candidates\n" + plan.decisions_text(); }

std::string explain_plan(const GemmPlan::Impl& plan) { return verdict_text(plan) + candidates_text(plan); }

std::string verdict_text(const GemmPlan::Impl& plan) {
  const GemmProblem& p = plan.problem;
  std::string text = line("problem", plan.asked);
  if (plan.candidate.empty()) return text + line("plan", "none: no candidate serves this problem");
  const Runner& runner = *plan.runner;
  const std::string library = runner.library();
  text += line("plan", plan.candidate + (library.empty() ? "" : ": " + library));
  if (const std::string prediction = prediction_text(plan); !prediction.empty())
    text += line("predicted", prediction);
  if (const std::string learned = runner.learned(); !learned.empty()) text += line("learning", learned);
  text += line("bound", bound_text(plan));
  text += line("residency", fmt::format("{}, {}", to_string(p.residency), plan.residency_reason));
  text += line("threads", runner.threads_text());
  if (!runner.config().is_null()) {
    text += line("config", runner.config_text());
    if (const std::string kernel = runner.kernel(); !kernel.empty()) text += line("kernel", kernel);
    text += wisdom_lines(plan);
  }
  if (runner.takes_blocks() && p.batch_count > 1 && !has_levels(p))
    text += line("layout", conversion_text(plan));
  for (const std::string& notice : plan.notices) text += line("notice", notice);
  return text;
}

}  // namespace tilewright
