// The candidates of a tuning run: which configs of a kernel's space are considered at all, and the kernels
// made of them, several at a time, each passed through the gate before anybody may time it. How good they are
// is found out elsewhere.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "kernel/gemm_small_cpu.hpp"
#include "tune/gate.hpp"

namespace tilewright {

// Only configs whose `axis` has one of these values are tried.
struct AxisChoice {
  std::string axis;
  std::vector<nlohmann::json> values;
};

// Only configs whose `axis` compares so are tried: "nr>=4", "tail!=mask".
struct AxisCondition {
  std::string axis, relation;  // >= <= != = > <
  nlohmann::json value;

  // Throws Error(invalid_argument) naming the text, the axis or the value.
  static AxisCondition parse(const std::string& text);
  bool holds(const nlohmann::json& config) const;
};

struct CandidateRules {
  Isa isa = Isa::portable;
  bool whole_space = false;  // every legal config, or the few hundred that usually matter
  std::vector<AxisChoice> choices;
  std::vector<AxisCondition> conditions;
};

// Throws Error(invalid_argument) naming an axis that does not exist or a value of the wrong type.
void check_axes(const CandidateRules& rules);

// The default config first, then the others. What each constraint of the space cut goes to `removed`; of a
// space too large to walk, which is drawn from, the part of the walk that was made. Throws
// Error(invalid_argument) naming an axis or value that does not exist, or when no config remains.
std::vector<GemmSmallCpuConfig> candidate_configs(const GemmProblem& problem, const CandidateRules& rules,
                                                  std::vector<Removed>* removed = nullptr);

class CandidateKernels {
 public:
  CandidateKernels(const GemmProblem& problem, Isa isa, std::vector<GemmSmallCpuConfig> configs);

  std::size_t size() const noexcept { return configs_.size(); }
  const GemmSmallCpuConfig& config(std::size_t i) const { return configs_[i]; }

  // These will be wanted soon: the next kernel() that has to make one makes several of them side by side.
  void announce(std::span<const std::size_t> wanted);
  // The kernel if it is right; null, with failure(i) saying why, if it is not.
  const SmallKernel* kernel(std::size_t i);
  const std::string& failure(std::size_t i) const { return slots_[i].failure; }
  // The error nearest to its bound that the gate saw of a kernel that passed.
  const Accuracy& accuracy(std::size_t i) const { return slots_[i].accuracy; }
  void set_failure(std::size_t i, std::string reason);  // known from before

 private:
  struct Slot {
    std::shared_ptr<const SmallKernel> kernel;
    std::string failure;
    Accuracy accuracy;
    bool checked = false;
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
