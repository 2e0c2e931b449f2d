// A GPU as a machine: what all cases of a run share. The device with its loops and memory, the vendor's
// library, a meter. Each of those that may be lacking comes with the reason.
#pragma once

#include <optional>

#include "bench/machine.hpp"
#include "device/gpu/blas.hpp"
#include "gemm/device/machine.hpp"
#include "kernel/probe/multiply.hpp"
#include "kernel/probe/stream.hpp"
#include "measure/gpu/arena.hpp"
#include "measure/gpu/other_users.hpp"
#include "measure/gpu/timer.hpp"

namespace tilewright::bench {

struct GpuBench : Machine {
  explicit GpuBench(const Plan& run);

  std::vector<std::string> describe() const override;
  void prepare(const std::vector<Case>& cases) override;
  std::unique_ptr<Stage> stage(const Case& c, int place) override;
  Conversion conversion(const GemmProblem& from, const GemmProblem& to, int threads) override;
  std::string device() const override { return gpu.limits().name; }
  std::vector<std::string> hardware_counts(const Case&) override {
    return {"hardware counters: none (those of a GPU are a profiler's)"};
  }

  // The streaming loops of a mix, each over whole operands.
  void add_streams(const GpuStreamMix& mix, std::vector<Contender>& to, const std::string& impl = "stream");
  // How our plans are asked for.
  GemmOptions options(const Case& c) const;
  // Clocks and temperature of now, and what a measured row says of the device.
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
  std::optional<GpuArena> second;  // of the other place
  std::optional<GpuBlas> blas;
  std::string no_blas;
  OtherUsersNotes use;
};

}  // namespace tilewright::bench
