// What all cases of a run on the GPU share: the device with its loops and memory, the vendor's library, the
// contexts that plans are made in. Each of those that a machine may lack comes with the reason.
#pragma once

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench_gpu.hpp"
#include "core/dispatch.hpp"
#include "device/gpu/blas.hpp"
#include "gemm/device_machine.hpp"
#include "gemm/plan.hpp"
#include "kernel/probe/multiply.hpp"
#include "kernel/probe/stream.hpp"
#include "measure/gpu/arena.hpp"
#include "measure/gpu/other_users.hpp"
#include "measure/gpu/timer.hpp"
#include "measure/typed_values.hpp"

namespace tilewright::cli {

inline ContextOptions without_wisdom_options() {
  ContextOptions options;
  options.use_wisdom = options.notices = false;
  return options;
}

struct GpuBenchMachine::Impl {
  explicit Impl(const BenchPlan& bench_plan)
      : plan(bench_plan),
        without_wisdom(without_wisdom_options()),
        machine(context.impl().gpus->open(bench_plan.device)),
        gpu(machine->gpu()),
        current(gpu),
        stream(gpu),
        timer(gpu, stream.get()),
        streams(gpu, machine->compiler()),
        multiplies(gpu, machine->compiler()),
        arena(gpu, std::size_t(bench_plan.operand_bytes)),
        use(gpu.limits().uuid) {
    try {
      blas.emplace();
      blas->set_stream(stream.get());
    } catch (const Error& error) {
      no_blas = error.what();
    }
  }

  bool wanted(const std::string& peer) const {
    return plan.all_peers || std::find(plan.peers.begin(), plan.peers.end(), peer) != plan.peers.end();
  }

  // Clocks and temperature of now, and what a measured row says of the device, under the contract's names.
  nlohmann::json readings() const {
    const GpuReadings now = use.nvml() != nullptr ? use.nvml()->read() : GpuReadings{};
    nlohmann::json metrics = nlohmann::json::object();
    if (now.clock_mhz) metrics["clock_mhz"] = *now.clock_mhz;
    if (now.memory_clock_mhz) metrics["memory_clock_mhz"] = *now.memory_clock_mhz;
    if (now.temperature_c) metrics["temperature_c"] = *now.temperature_c;
    return metrics;
  }
  nlohmann::json provenance() const {
    const GpuLimits& limits = gpu.limits();
    return {{"device", limits.name},
            {"device_uuid", limits.uuid},
            {"driver", use.nvml() != nullptr ? use.nvml()->driver_version() : limits.driver_version},
            {"compiler", machine->compiler().provenance()}};
  }

  const BenchPlan& plan;
  Context context;
  Context without_wisdom;
  std::shared_ptr<const GpuMachine> machine;
  const Gpu& gpu;
  Gpu::Current current;
  GpuStream stream;
  GpuTimer timer;
  GpuStreams streams;
  GpuMultiplies multiplies;
  GpuArena arena;
  std::optional<GpuBlas> blas;
  std::string no_blas;
  OtherUsersNotes use;
};

// How our plans are asked for.
inline GemmOptions gpu_options(const BenchPlan& plan, const BenchCase& bench_case) {
  GemmOptions options = bench_case.options;
  options.device = plan.device;
  options.align_bytes = 0;  // that of allocations
  return options;
}

// A plan as a call on the operands of one batch, with the case's alpha and beta.
inline std::function<void(const Operands&)> gpu_call(std::shared_ptr<const GemmPlan> made, const BenchCase& c,
                                                     void* stream) {
  return dispatch(made->problem().dtype, [&]<class T>() -> std::function<void(const Operands&)> {
    const T alpha = value_from<T>(c.alpha, 0), beta = value_from<T>(c.beta, 0);
    return [made, alpha, beta, stream](const Operands& o) {
      if (made->problem().layout == Layout::pointer)
        made->run<T>(alpha, static_cast<const T* const*>(o.a), static_cast<const T* const*>(o.b), beta,
                     static_cast<T* const*>(o.c), stream);
      else
        made->run<T>(alpha, static_cast<const T*>(o.a), static_cast<const T*>(o.b), beta,
                     static_cast<T*>(o.c), stream);
    };
  });
}

}  // namespace tilewright::cli
