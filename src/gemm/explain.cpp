// A plan in words: what was asked, who could serve it and why not, the config and where it came from, and
// what the machine allows at best.
#include <algorithm>

#include "device/cpu.hpp"
#include "gemm/layout_costs.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "wisdom/ceilings.hpp"

namespace tilewright {
namespace {

std::string line(const char* label, const std::string& text) {
  return fmt::format("{:<11}{}\n", label, text);
}

std::string candidates_text(const GemmPlan::Impl& plan) {
  std::string text;
  for (const Decision& decision : plan.decisions)
    text += fmt::format("  {:<15}{}\n", decision.candidate,
                        decision.accepted ? "taken" : "no: " + decision.reason);
  return text;
}

// T >= max(bytes / B, flops / P); only the second inside the caches.
struct LeastTime {
  double seconds = 0;
  bool by_memory = false;
  std::string time;  // of the ceilings; "" where they were not measured
};
LeastTime least_time(const GemmProblem& p, int threads) {
  const auto ceilings = load_ceilings(ceilings_path(Environment::read()), cpu_info().device, threads);
  if (p.location == Location::device || !ceilings || ceilings->compute_gflops(p.dtype) <= 0 ||
      ceilings->memory_gbytes(p.beta != Scalar::zero) <= 0)
    return {};
  const double compute_s = flops(p) / (ceilings->compute_gflops(p.dtype) * 1e9);
  const double memory_s = bytes(p) / (ceilings->memory_gbytes(p.beta != Scalar::zero) * 1e9);
  const bool memory = p.residency == Residency::cold && memory_s > compute_s;
  return {memory ? memory_s : compute_s, memory, ceilings->time};
}

std::string bound_text(const GemmPlan::Impl& plan) {
  const GemmProblem& p = plan.problem;
  std::string text = fmt::format("{:.6g} bytes, {:.6g} flops", bytes(p), flops(p));
  if (const std::string own = plan.runner->bound(); !own.empty()) return text + "; " + own;
  const int threads = plan.runner->thread_count();
  if (p.location == Location::device)
    return text + "; no ceilings are kept for GPUs (bench measures them beside each case)";
  const LeastTime least = least_time(p, threads);
  if (least.time.empty()) return text + "; no ceilings measured yet (tilewright info --measure)";
  return text + fmt::format("; at least {} by {} on {} thread{} (ceilings of {})",
                            seconds_text(least.seconds), least.by_memory ? "memory" : "compute", threads,
                            threads == 1 ? "" : "s", least.time);
}

// When copying the batch to interleaved blocks would pay; the label is the sentence's first word.
std::string conversion_text(const GemmPlan::Impl& plan) {
  const GemmProblem& p = plan.problem;
  const auto costs = load_layout_costs(layout_costs_path(Environment::read()), plan.runner->device());
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
  std::string text = line("wisdom", fmt::format("{} ({})", to_string(plan.match), plan.config_source));
  if (plan.match != WisdomMatch::none && plan.recorded.objective != to_string(Objective::time))
    text += line("objective", "searched for " + plan.recorded.objective);
  if (plan.recorded.seconds > 0) text += line("recorded", recorded_text(plan.recorded, plan.match));
  return text;
}

}  // namespace

std::string explain_plan(const GemmPlan::Impl& plan) {
  const GemmProblem& p = plan.problem;
  GemmProblem asked = p;
  asked.residency = plan.asked_residency;
  std::string text = line("problem", to_string(asked));
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
  // One thread is not faster than all that serve.
  const double least_s = std::max(least_time(p, 1).seconds, least_time(p, runner.thread_count()).seconds);
  if (const auto prediction = runner.prediction(least_s); !prediction.empty())
    text += line("predicted", prediction);
  text += line("bound", bound_text(plan));
  if (runner.takes_blocks() && p.batch_count > 1 && !has_levels(p))
    text += line("layout", conversion_text(plan));
  for (const std::string& notice : plan.notices) text += line("notice", notice);
  return text;
}

}  // namespace tilewright
