// A plan in words: what was asked, who could serve it and why not, the config and where it came from, and
// what the machine allows at best.
#include "device/cpu.hpp"
#include "gemm/layout_costs.hpp"
#include "gemm/operand.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "wisdom/ceilings.hpp"

namespace tilewright {
namespace {

std::string line(const char* label, const std::string& text) {
  return fmt::format("{:<11}{}\n", label, text);
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.3g} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

int thread_count(const GemmPlan::Impl& plan) { return plan.sequential ? 1 : allowed_threads(plan.threads); }

std::string threads_text(const GemmPlan::Impl& plan) {
  if (plan.gpu != nullptr) return fmt::format("none: the work is queued on {}", plan.gpu->device());
  if (plan.candidate == "cblas" && !plan.cblas->has_local_threads())
    return fmt::format("the own ones of {}, which takes no count per call", plan.cblas->name());
  if (plan.threads == 1) return "1, as asked for";
  if (plan.sequential)
    return fmt::format("1 (about {} of work is not worth more)", seconds_text(estimate_s(plan.problem)));
  return fmt::format("{}{}", thread_count(plan), plan.threads > 0 ? ", as asked for" : ", OpenMP's default");
}

std::string candidates_text(const GemmPlan::Impl& plan) {
  std::string text;
  for (const Decision& decision : plan.decisions)
    text += fmt::format("  {:<15}{}\n", decision.candidate,
                        decision.accepted ? "taken" : "no: " + decision.reason);
  return text;
}

// T >= max(bytes / B, flops / P); only the second inside the caches.
std::string bound_text(const GemmPlan::Impl& plan) {
  const GemmProblem& p = plan.problem;
  std::string text = fmt::format("{:.6g} bytes, {:.6g} flops", bytes(p), flops(p));
  const int threads = thread_count(plan);
  const auto ceilings = load_ceilings(ceilings_path(Environment::read()), cpu_info().device, threads);
  if (p.location == Location::device)
    return text + "; no ceilings are kept for GPUs (bench measures them beside each case)";
  if (!ceilings || ceilings->compute_gflops(p.dtype) <= 0 ||
      ceilings->memory_gbytes(p.beta != Scalar::zero) <= 0)
    return text + "; no ceilings measured yet (tilewright info --measure)";
  const double compute_s = flops(p) / (ceilings->compute_gflops(p.dtype) * 1e9);
  const double memory_s = bytes(p) / (ceilings->memory_gbytes(p.beta != Scalar::zero) * 1e9);
  const bool memory = p.residency == Residency::cold && memory_s > compute_s;
  return text + fmt::format("; at least {} by {} on {} thread{} (ceilings of {})",
                            seconds_text(memory ? memory_s : compute_s), memory ? "memory" : "compute",
                            threads, threads == 1 ? "" : "s", ceilings->time);
}

// When copying the batch to interleaved blocks would pay; the label is the sentence's first word.
std::string conversion_text(const GemmPlan::Impl& plan) {
  const GemmProblem& p = plan.problem;
  const std::string device = plan.gpu == nullptr ? cpu_info().device : plan.gpu->device();
  const auto costs = load_layout_costs(layout_costs_path(Environment::read()), device);
  return explain_conversion(p, nearest_costs(costs, p));
}

// What a model says before anything is measured: of the kernels that have one.
std::string prediction_text(const GemmPlan::Impl& plan) {
  if (plan.gpu != nullptr) return plan.gpu->prediction();
  if (plan.candidate != "gemm_small_cpu") return "";
  return fmt::format("about {} on one thread (round figures of a current core)",
                     seconds_text(estimate_s(plan.problem)));
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
  text += line("plan", plan.candidate == "cblas" ? "cblas: " + plan.cblas->name() : plan.candidate);
  text += line("threads", threads_text(plan));
  if (plan.kernel != nullptr) {
    text += line("config", describe(plan.kernel->config()));
    text += wisdom_lines(plan);
  }
  if (plan.gpu != nullptr && !plan.gpu->config().is_null()) {
    text += line("config", plan.gpu->config().dump());
    text += line("kernel", plan.gpu->kernel());
    text += wisdom_lines(plan);
  }
  if (const auto prediction = prediction_text(plan); !prediction.empty())
    text += line("predicted", prediction);
  text += line("bound", bound_text(plan));
  const bool is_small = plan.candidate == "gemm_small_cpu" || plan.candidate == "gemm_small";
  if (is_small && p.batch_count > 1) text += line("layout", conversion_text(plan));
  for (const std::string& notice : plan.notices) text += line("notice", notice);
  return text;
}

}  // namespace tilewright
