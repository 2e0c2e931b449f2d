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
#include "tune/axis_rules.hpp"
#include "tune/gpu_check.hpp"
#include "tune/search_loop.hpp"

namespace tilewright {

// The default first, then what the cost model or, with whole_space, chance puts forward, as far as the rules
// allow. Throws Error(invalid_argument) naming an axis or value that does not exist.
std::vector<GemmSmallConfig> gpu_candidate_configs(const GemmProblem& problem, const GpuLimits& limits,
                                                   const AxisRules& rules, std::uint64_t seed);

class GpuCandidates : public CandidatePool {
 public:
  GpuCandidates(const GemmProblem& problem, const StencilCompiler& compiler,
                std::vector<GemmSmallConfig> configs, GpuArena& arena);

  std::size_t size() const override { return slots_.size(); }
  nlohmann::json fields(std::size_t i) const override { return to_json(slots_[i].config); }
  void announce(std::span<const std::size_t> wanted) override;
  // Whether it compiled, fits the device and is right.
  bool is_right(std::size_t i) override;
  const std::string& failure(std::size_t i) const override { return slots_[i].failure; }
  const Accuracy& accuracy(std::size_t i) const override { return slots_[i].accuracy; }
  void set_failure(std::size_t i, std::string reason) override;
  void set_passed(std::size_t i, const Accuracy& accuracy) override;
  // Between two events, at least one launch.
  TurnTimer::Turn time(std::size_t i, double turn_s) override;
  std::vector<std::unique_ptr<Observer>> observers() const override;

 private:
  struct Slot {
    GemmSmallConfig config;
    JitBinary binary;
    std::unique_ptr<GemmSmallKernel> kernel;
    std::string failure;
    Accuracy accuracy{};  // relative to the bound, which is 1
    bool compiled = false, checked = false;
    double launch_s = 0;  // as last seen
  };
  void compile(std::span<const std::size_t> wanted);
  void make(Slot& slot, std::size_t i);
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
