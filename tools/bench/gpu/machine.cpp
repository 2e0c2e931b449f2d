// Opens a GPU for a run and describes it.
#include "bench/gpu/machine.hpp"

#include <fmt/format.h>

#include "gemm/context_impl.hpp"
#include "gemm/device/conversion.hpp"
#include "gemm/device/traffic.hpp"

namespace tilewright::bench {

GpuBench::GpuBench(const Plan& run)
    : Machine(run),
      machine(Access::impl(context).gpus->open(run.device)),
      gpu(machine->gpu()),
      current(gpu),
      stream(gpu),
      timer(gpu, stream.get()),
      streams(gpu, machine->compiler()),
      multiplies(gpu, machine->compiler()),
      arena(gpu, std::size_t(run.operand_bytes)),
      use(gpu.limits().uuid) {
  try {
    blas.emplace();
    blas->set_stream(stream.get());
  } catch (const Error& error) {
    no_blas = error.what();
  }
}

std::vector<std::string> GpuBench::describe() const {
  const GpuLimits& limits = gpu.limits();
  std::vector<std::string> lines = {fmt::format("{} (sm_{}), {}", limits.name, limits.compute_capability,
                                                machine->compiler().nvrtc().version())};
  if (blas) lines.push_back("peers: cuBLAS " + blas->version());
  if (!no_blas.empty()) lines.push_back("not here: cuBLAS (" + no_blas + ")");
  if (!use.absence().empty()) lines.push_back("not here: NVML (" + use.absence() + ")");
  return lines;
}

void GpuBench::prepare(const std::vector<Case>& cases) {
  // A case that cannot be prepared reports its error when it runs.
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < 2 * cases.size(); ++i) {
    const Case& one = cases[i / 2];
    try {
      tilewright::plan(i % 2 == 0 ? context : without_wisdom, planned_problem(one), options(one));
    } catch (const Error&) {
    }
  }
}

Machine::Conversion GpuBench::conversion(const GemmProblem& from, const GemmProblem& to, int) {
  const auto made = std::make_shared<const GpuBatchConversion>(machine, from, to);
  Conversion all{[made](const Operands& x, const Operands& y) { made->in(x, y); },
                 [made](const Operands& x, const Operands& y) { made->out(x, y); }};
  const GpuStreamMix apart = gpu_traffic(from).mix, together = gpu_traffic(to).mix;
  const double pointers =
      from.layout == Layout::pointer ? double(sizeof(void*)) * double(from.batch_count) : 0;
  all.out_bytes = apart.c_bytes + together.c_bytes + pointers;
  all.in_bytes = apart.a_bytes + apart.b_bytes + together.a_bytes + together.b_bytes + 2 * pointers;
  if (apart.reads_c) all.in_bytes += all.out_bytes;
  add_streams(together, all.loops, "multiplying");
  // A copy in the terms of the streaming loops: it writes as much as it reads.
  add_streams({.a_bytes = 1, .b_bytes = 1, .c_bytes = 2, .reads_c = false}, all.loops, "copying");
  return all;
}

void GpuBench::add_streams(const GpuStreamMix& mix, std::vector<Contender>& to, const std::string& impl) {
  const GpuStreamMix whole = mix.as_long_as(double(arena.operand_bytes()));
  for (const GpuStreams::Loop& loop : streams.loops(mix.reads_c)) {
    const auto run = [this, &loop, whole] {
      return GpuStreams::launch(loop, whole, arena.a(), arena.b(), arena.streamed_c(), stream.get());
    };
    Contender one{.role = Role::memory_loop, .impl = impl, .variant = loop.name};
    one.work = run();
    one.run = [run](std::int64_t) { run(); };
    to.push_back(std::move(one));
  }
  gpu.synchronize();
}

GemmOptions GpuBench::options(const Case& c) const {
  GemmOptions options = c.options;
  options.queue.device = plan.device;
  options.align_bytes = 0;  // the alignment of allocations
  return options;
}

nlohmann::json GpuBench::readings() const {
  const GpuReadings now = use.nvml() != nullptr ? use.nvml()->read() : GpuReadings{};
  nlohmann::json metrics = nlohmann::json::object();
  if (now.clock_mhz) metrics["clock_mhz"] = *now.clock_mhz;
  if (now.memory_clock_mhz) metrics["memory_clock_mhz"] = *now.memory_clock_mhz;
  if (now.temperature_c) metrics["temperature_c"] = *now.temperature_c;
  return metrics;
}

nlohmann::json GpuBench::provenance() const {
  const GpuLimits& limits = gpu.limits();
  return {{"device", limits.name},
          {"device_uuid", limits.uuid},
          {"driver", use.nvml() != nullptr ? use.nvml()->driver_version() : limits.driver_version},
          {"compiler", machine->compiler().provenance()}};
}

std::unique_ptr<Machine> gpu_machine(const Plan& plan) { return std::make_unique<GpuBench>(plan); }

}  // namespace tilewright::bench
