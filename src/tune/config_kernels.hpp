// The candidates of a tuning run: which configs of a kernel's space are considered at all, and the kernels
// made of them, several at a time, each passed through the gate before anybody may time it. How good they are
// is found out elsewhere.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel/gemm_small_cpu/kernel.hpp"
#include "tune/axis_rules.hpp"
#include "tune/gate.hpp"

namespace tilewright {

struct ConfigRules : AxisRules {
  Isa isa = Isa::portable;
};

// The default config first, then the others. What each constraint of the space cut goes to `removed`; of a
// space too large to walk, which is drawn from, the part of the walk that was made. Throws
// Error(invalid_argument) naming an axis or value that does not exist, or when no config remains.
std::vector<GemmSmallCpuConfig> candidate_configs(const GemmProblem& problem, const ConfigRules& rules,
                                                  std::vector<Removed>* removed = nullptr);

class ConfigKernels {
 public:
  ConfigKernels(const GemmProblem& problem, Isa isa, std::vector<GemmSmallCpuConfig> configs);

  std::size_t size() const noexcept { return configs_.size(); }
  const GemmSmallCpuConfig& config(std::size_t i) const { return configs_[i]; }

  // These will be wanted soon: the next kernel() that has to make one makes several of them side by side.
  void announce(std::span<const std::size_t> wanted);
  // The kernel if it is right; null, with failure(i) saying why, if it is not.
  const GemmSmallCpuKernel* kernel(std::size_t i);
  // The same without making a kernel of what passed before.
  bool is_right(std::size_t i);
  const std::string& failure(std::size_t i) const { return slots_[i].failure; }
  // The error nearest to its bound that the gate saw of a kernel that passed.
  const Accuracy& accuracy(std::size_t i) const { return slots_[i].accuracy; }
  // Known from before.
  void set_failure(std::size_t i, std::string reason);
  void set_passed(std::size_t i, const Accuracy& accuracy);

 private:
  struct Slot {
    std::shared_ptr<const GemmSmallCpuKernel> kernel;
    std::string failure;
    Accuracy accuracy;
    bool checked = false;  // by the gate, now or in an earlier run
  };
  void make(std::span<const std::size_t> wanted);

  GemmProblem problem_;
  std::vector<GemmSmallCpuConfig> configs_;
  std::vector<Slot> slots_;
  Gate gate_;
  std::vector<std::size_t> announced_;
  std::size_t next_announced_ = 0;
};

}  // namespace tilewright
