// Factorizations as an operation of the tool, and its family of bench.
#include <fmt/format.h>

#include <algorithm>

#include "bench/lu/ways.hpp"
#include "core/fields.hpp"
#include "core/problem.hpp"
#include "gemm/parallel.hpp"
#include "lists.hpp"
#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "operations/operation.hpp"
#include "operations/simulated_gpu.hpp"
#include "people/refusal.hpp"
#include "tune/lu/operation.hpp"

namespace tilewright::cli {
namespace {

LuOptions lu_options(const LuProblem& problem, const ExplainFlags& flags) {
  const std::pair<const char*, bool> given[] = {{"--objective", flags.objective != ExplainFlags().objective},
                                                {"--config", !flags.config.empty()},
                                                {"--split", flags.hybrid.split != HybridFlags().split}};
  for (const auto& [name, is_given] : given)
    if (is_given) not_supported(name, "{} does not apply to {}", name, to_string(problem));
  LuOptions options;
  options.target = enum_from_string<Target>(flags.target, "target");
  options.candidate = flags.candidate;
  options.threads = flags.threads;
  GemmOptions shared;
  set_hybrid(flags.hybrid, shared);
  options.gpus = shared.gpus, options.gpu_memory_bytes = shared.gpu_memory_bytes;
  options.on_device_failure = shared.on_device_failure;
  return options;
}

// Returns the distinct factorizations that the flags name.
std::vector<LuProblem> factorizations_of(const TuneFlags& flags) {
  std::vector<LuProblem> problems;
  for (const std::string& text : flags.problems) {
    const LuProblem problem = parse_lu_problem(text);
    if (problem.m < 1 || problem.n < 1 || problem.lda < problem.m)
      wrong_use("PROBLEM", "PROBLEM = {} has nothing to factor, or columns that overlap", text);
    if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(problem);
  }
  return problems;
}

class LuVerbs : public ToolOperation {
 public:
  std::string name() const override { return "lu"; }
  std::string things() const override { return "factorizations"; }
  std::string example() const override { return "lu:f64:m=2000,n=2000"; }

  Explainer explainer(const std::string& text, const ExplainFlags& flags) const override {
    const LuProblem problem = parse_lu_problem(text);
    const LuOptions options = lu_options(problem, flags);
    return [problem, options](Context& context) {
      const Explanation said = lu_explanation(context, problem, options);
      Explanation verdict = said;
      std::erase_if(verdict.decisions, [](const Decision& one) { return !one.accepted; });
      const std::string all = lu_text(said), first = lu_text(verdict);
      Explained explained{first, all.substr(first.size()), explanation_json(said, all),
                          !said.candidate.empty() || !said.does.empty()};
      explained.json["threads"] = problem.location == Location::host
                                      ? nlohmann::json(allowed_threads(options.threads))
                                      : nlohmann::json();
      return explained;
    };
  }

  Operations tuned(const TuneFlags& flags, Context& context, TuneMachine& machine) const override {
    Operations all;
    for (const LuProblem& problem : factorizations_of(flags))
      all.push_back(
          tilewright::lu_operation(context, problem, {.rules = rules_of(flags), .gpu = machine.device()}));
    return all;
  }
  RecordedProblem recorded(const std::string& text) const override {
    const LuProblem problem = parse_lu_problem(text);
    RecordedProblem recorded{bench::lu_problem_keys(problem), flops(problem)};
    recorded.keys["location"] = to_string(problem.location);
    return recorded;
  }

  std::vector<const BenchFamily*> bench_families() const override { return {&lu_bench()}; }
};

// The family lu of `bench`: its own flags, panels and selections to try, and the plan that they make.

// Parses auto, exhaustive, or counts and ranges of them.
void parse_panels(const std::string& text, bench::LuTrials& trials) {
  trials.panels.clear();
  for (const std::string& item : split(text, ',')) {
    if (item == "auto")
      trials.panels.push_back(0);
    else if (item == "exhaustive")
      trials.exhaustive = true;
    else
      for (const std::int64_t nb : parse_counts("--nb", item, 1)) trials.panels.push_back(nb);
  }
  if (trials.panels.empty()) trials.panels = {0};
}

void complete_lu(const FamilyFlags& flags, bench::Plan& plan) {
  bench::LuTrials trials;
  trials.selects = parse_names<LuSelect>("--selects", flags.own_value("--selects"));
  const std::string panels = flags.own_value("--nb");
  parse_panels(panels, trials);
  std::int64_t most = 0;
  for (const bench::Case& one : plan.cases) most = std::max(most, std::min(one.problem.m, one.problem.n));
  for (const std::int64_t nb : trials.panels)
    if (nb > most)
      refuse_value("--nb", panels,
                   fmt::format("contains {}, more than the {} columns of the largest matrix", nb, most));
  GemmOptions shared;
  set_hybrid(flags.hybrid, shared);
  trials.options.gpus = shared.gpus;
  trials.options.gpu_memory_bytes = shared.gpu_memory_bytes;
  trials.options.on_device_failure = shared.on_device_failure;
  trials.options.candidate = flags.candidate;
  trials.simulated = read_simulated_gpu(flags, shared.gpus, plan);
  plan.own = std::move(trials);
}

}  // namespace

const ToolOperation& lu_verbs() {
  static const LuVerbs operation;
  return operation;
}

const BenchFamily& lu_bench() {
  static const BenchFamily family{
      .name = "lu",
      .make = bench::lu_family,
      .is_shared = true,
      .sizes = "1000:10000:1000",  // those of the paper
      .edges = 2,
      .residencies = "cold",
      .unused = {"--op", "--layout", "--batch", "--block", "--alpha", "--beta", "--pad-ld", "--pointer-order",
                 "--residency", "--arrival", "--numa", "--config", "--objective", "--counters", "--record"},
      .peers = bench::lu_peer_names,
      .ways = bench::lu_variants,
      .target_is_variant = true,
      .own = {{"--selects", "lu: how to choose the CPU's share beside GPUs", "panel,square,flops"},
              {"--nb",
               "lu: columns of a panel: a list of auto (by models or a rule), counts, ranges and exhaustive, "
               "which times panels (those of the list, else 64 to 768) and shares of the CPU to find the "
               "optimum",
               "auto"},
              {simulated_gpu_flag, simulated_gpu_help, ""}},
      .form = &bench::lu_form,
      .complete = complete_lu};
  return family;
}

}  // namespace tilewright::cli
