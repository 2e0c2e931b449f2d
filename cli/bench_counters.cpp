// The counts shown by `bench --counters`: what the generated code says of itself, and what the processor
// counted; of kernels on a GPU what the compiler and the cost model know.
#include <fmt/format.h>

#include "bench_families.hpp"
#include "bench_ours.hpp"
#include "gemm/plan.hpp"
#include "measure/counters.hpp"

namespace tilewright::cli {
namespace {

// Enough runs that opening and closing the counters disappears.
constexpr double counted_problems = 200000;

void print_hardware(std::FILE* out, BenchMachine& machine, const BenchCase& bench_case) {
  const HardwareCounters counters;
  if (!counters.unavailable().empty()) {
    fmt::print(out, "  hardware counters: none ({})\n", counters.unavailable());
    return;
  }
  const OperandSet set(machine.arena, bench_case.problem, 1, bench_case.data, bench_case.pointer_order);
  const std::vector<Operands> batches = {set.batch(0)};
  GemmOptions options = bench_case.options;
  options.threads = 1;
  const Ours ours = prepare_ours(machine.context, bench_case, options, batches);
  const double count = double(bench_case.problem.batch_count);
  const auto runs = static_cast<std::int64_t>(counted_problems / count) + 1;
  ours.run(0);
  const auto readings = counters.measure([&] {
    for (std::int64_t i = 0; i < runs; ++i) ours.run(0);
  });
  std::string line = "  hardware, per problem:";
  for (const CounterReading& reading : readings)
    line += fmt::format(" {} {:.1f}", reading.name, reading.value / (count * double(runs)));
  fmt::print(out, "{}\n", line);
}

}  // namespace

void print_counters(std::FILE* out, BenchMachine& machine, const CaseResult& result) {
  const auto& plan = result.ours().plan;
  const auto metrics = plan ? plan->impl().runner->metrics() : nlohmann::json::object();
  const auto c = from_json(metrics.value("kernel_counts", nlohmann::json::object()), KernelCounts());
  if (c.instructions == 0) {
    fmt::print(out, "  generated code: none for this case\n");
  } else {
    fmt::print(
        out,
        "  generated code, per problem: instructions {:.1f} loads {:.1f} stores {:.1f} multiply-adds {:.1f} "
        "prefetches {:.1f}; {} bytes of code\n",
        c.instructions, c.loads, c.stores, c.multiply_adds, c.prefetches, c.code_bytes);
  }
  print_hardware(out, machine, result.bench_case);
}

void print_gpu_counters(std::FILE* out, const CaseResult& result) {
  for (const ImplResult& impl : result.impls) {
    if (impl.plan == nullptr) continue;
    const Runner& runner = *impl.plan->impl().runner;
    fmt::print(out, "  {}: {}\n", impl.impl, runner.kernel());
    if (const std::string predicted = runner.prediction(); !predicted.empty())
      fmt::print(out, "  {}: predicted {}\n", impl.impl, predicted);
    const nlohmann::json metrics = runner.metrics();
    if (!metrics.contains("predicted_cycles")) continue;
    std::string line;
    for (const auto& item : metrics["predicted_cycles"].items())
      line += fmt::format(" {} {:.3g}", item.key(), item.value().get<double>());
    fmt::print(out, "  {}: cycles by the cost model:{}\n", impl.impl, line);
  }
  fmt::print(out, "  hardware counters: none (those of a GPU are a profiler's)\n");
}

}  // namespace tilewright::cli
