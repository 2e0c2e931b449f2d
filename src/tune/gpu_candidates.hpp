// The configs of one GPU problem as something to be timed: made several at a time, each passed through the
// gate before anybody may time it, and timed over batches that rotate through device memory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel/gpu_gemm_small.hpp"
#include "measure/gpu_arena.hpp"
#include "measure/gpu_timer.hpp"
#include "tune/candidates.hpp"
#include "tune/gpu_check.hpp"

namespace tilewright {

// The default first, then what the cost model or, with whole_space, chance puts forward, as far as choices
// and conditions allow.
std::vector<GemmSmallConfig> gpu_candidate_configs(const GemmProblem& problem, const GpuLimits& limits,
                                                   bool whole_space, std::span<const AxisChoice> choices,
                                                   std::span<const AxisCondition> conditions,
                                                   std::uint64_t seed);

class GpuCandidates {
 public:
  GpuCandidates(const GemmProblem& problem, const StencilCompiler& compiler,
                std::vector<GemmSmallConfig> configs, GpuArena& arena);

  std::size_t size() const noexcept { return slots_.size(); }
  const GemmSmallConfig& config(std::size_t i) const { return slots_[i].config; }

  // These will be wanted soon: the next one that has to be compiled takes others along.
  void announce(std::span<const std::size_t> wanted);
  // Whether it compiled, fits the device and is right; failure(i) says why not.
  bool is_right(std::size_t i);
  const std::string& failure(std::size_t i) const { return slots_[i].failure; }
  // The largest error over its bound that the gate saw of one that is right.
  double error(std::size_t i) const { return slots_[i].error; }
  const std::string& device_uuid() const { return arena_.gpu().limits().uuid; }
  void set_failure(std::size_t i, std::string reason);

  struct Turn {
    double seconds = 0;   // per problem, between two events
    double problems = 0;  // that were timed
  };
  // About `turn_s` of this kernel, at least one launch.
  Turn time(std::size_t i, double turn_s);

 private:
  struct Slot {
    GemmSmallConfig config;
    JitBinary binary;
    std::unique_ptr<GemmSmallKernel> kernel;
    std::string failure;
    bool compiled = false, checked = false;
    double error = 0;     // over its bound, in the gate
    double launch_s = 0;  // as last seen
  };
  void compile(std::span<const std::size_t> wanted);
  void launch(const GemmSmallKernel& kernel);

  GemmProblem problem_;
  GemmSmallShape shape_;
  const StencilCompiler& compiler_;
  GpuArena& arena_;
  GpuStream stream_;
  GpuTimer timer_;
  GpuCheck check_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> announced_;
  std::size_t next_announced_ = 0;
};

}  // namespace tilewright
