// Describes plans in rows and lines.
#include "bench/plans.hpp"

#include <fmt/format.h>

#include "gemm/plan.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "measure/clock.hpp"

namespace tilewright::bench {

using nlohmann::json;

json config_of(const GemmPlan& plan) { return Access::impl(plan).runner->config(); }

WisdomMatch match_of(const GemmPlan& plan) { return Access::impl(plan).known.match; }

json metrics_of(const GemmPlan& plan) {
  const Runner& runner = *Access::impl(plan).runner;
  json metrics = runner.metrics();
  if (plan.problem().location == Location::host) return metrics;
  metrics["candidate"] = Access::impl(plan).candidate;
  metrics["kernel"] = runner.kernel();
  return metrics;
}

std::vector<std::string> counts_of(const GemmPlan& plan) {
  const Runner& runner = *Access::impl(plan).runner;
  const json metrics = runner.metrics();
  if (plan.problem().location == Location::host) {
    const auto c = from_json(metrics.value("kernel_counts", json::object()), KernelCounts());
    if (c.instructions == 0) return {"generated code: none for this case"};
    return {
        fmt::format("generated code, per problem: instructions {:.1f} loads {:.1f} stores {:.1f} "
                    "multiply-adds {:.1f} prefetches {:.1f}; {} bytes of code",
                    c.instructions, c.loads, c.stores, c.multiply_adds, c.prefetches, c.code_bytes)};
  }
  std::vector<std::string> lines = {runner.kernel()};
  if (const std::string predicted = runner.prediction(0); !predicted.empty())
    lines.push_back("predicted " + predicted);
  if (!metrics.contains("predicted_cycles")) return lines;
  lines.emplace_back("cycles by the cost model:");
  for (const auto& item : metrics["predicted_cycles"].items())
    lines.back() += fmt::format(" {} {:.3g}", item.key(), item.value().get<double>());
  return lines;
}

std::optional<double> generation_seconds(const GemmPlan& plan) {
  const json config = config_of(plan);
  if (config.is_null()) return std::nullopt;
  const auto own = from_json<GemmSmallCpuConfig>(config);
  const double begin = thread_cpu_seconds();
  const auto kernel = make_gemm_small_cpu(plan.problem(), own);
  return thread_cpu_seconds() - begin;
}

}  // namespace tilewright::bench
