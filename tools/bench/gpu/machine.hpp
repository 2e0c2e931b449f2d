// A GPU as a machine: the state that all cases of a run share. It holds the device with its loops and memory,
// the vendor's library, and a meter. Each part that may be missing comes with the reason.
#pragma once

#include <cstddef>
#include <optional>

#include "bench/machine.hpp"
#include "core/ceilings.hpp"
#include "device/gpu/blas.hpp"
#include "gemm/device/machine.hpp"
#include "kernel/probe/loops.hpp"
#include "measure/gpu/arena.hpp"
#include "measure/gpu/energy.hpp"
#include "measure/gpu/observer.hpp"

namespace tilewright::bench {

struct GpuBench : Machine {
  explicit GpuBench(const Plan& run);

  std::vector<std::string> describe() const override;
  void prepare(const std::vector<Case>& cases) override;
  std::unique_ptr<Stage> stage(const Case& c, int place) override;
  Conversion conversion(const GemmProblem& from, const GemmProblem& to, int threads) override;
  std::string device() const override { return gpu.limits().name; }
  std::vector<std::string> hardware_counts(const Case&) override {
    return {"hardware counters: none (use a profiler for those of a GPU)"};
  }

  // Adds the streaming loops of a mix, each over whole operands.
  void add_streams(const GpuStreamMix& mix, std::vector<Contender>& to, const std::string& impl = "stream");
  // Returns the options of tilewright's plans.
  GemmOptions options(const Case& c) const;
  // Returns current clocks and temperature, and the other keys of the device in a row.
  nlohmann::json readings() const;
  nlohmann::json provenance() const;

  std::shared_ptr<const GpuMachine> machine;
  const Gpu& gpu;
  Gpu::Current current;
  GpuStream stream;
  GpuTimer timer;
  GpuStreams streams;
  GpuMultiplies multiplies;
  GpuArena arena;
  std::optional<GpuArena> second;  // memory of the other place
  std::optional<GpuBlas> blas;
  std::string no_blas;
  OtherUsersNotes use;
};

// Measures the ceilings of a GPU by the loops that bound every case of bench there.

// Streams `operand_bytes` of each of A, B and C, or less if the device's memory is small. Compiles the loops
// unless they are cached. Throws the errors of GpuMachine.
GpuCeilings measure_gpu_ceilings(const GpuMachine& machine, std::size_t operand_bytes);

}  // namespace tilewright::bench
