// What all cases of a run on the GPU share: the device with its loops and memory, the vendor's library, the
// contexts that plans are made in. Each of those that a machine may lack comes with the reason.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "bench_gpu.hpp"
#include "device/gpu_blas.hpp"
#include "device/nvml.hpp"
#include "gemm/gpu_machine.hpp"
#include "gemm/plan.hpp"
#include "kernel/gpu_multiply.hpp"
#include "kernel/gpu_stream.hpp"
#include "measure/gpu_arena.hpp"
#include "measure/gpu_timer.hpp"

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
        arena(gpu, std::size_t(bench_plan.operand_bytes)) {
    try {
      blas.emplace();
      blas->set_stream(stream.get());
    } catch (const Error& error) {
      no_blas = error.what();
    }
    try {
      nvml.emplace(gpu.limits().uuid);
    } catch (const Error& error) {
      no_nvml = error.what();
    }
  }

  bool wanted(const std::string& peer) const {
    return plan.all_peers || std::find(plan.peers.begin(), plan.peers.end(), peer) != plan.peers.end();
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
  std::optional<Nvml> nvml;
  std::string no_nvml;
};

// How our plans are asked for.
inline GemmOptions gpu_options(const BenchPlan& plan, const BenchCase& bench_case) {
  GemmOptions options = bench_case.options;
  options.device = plan.device;
  options.align_bytes = 0;  // that of allocations
  return options;
}

}  // namespace tilewright::cli
