// What problems are tuned on: the host's kernels and memory and, once a problem lies on it, a GPU with its
// compiler and memory, each with its energy meter. Families take from here what they need; nothing is chosen
// or measured here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/objective.hpp"
#include "core/problem.hpp"
#include "device/energy_meter.hpp"
#include "kernel/gemm_small_cpu/config.hpp"
#include "measure/buffers.hpp"

namespace tilewright {

class TuneGpu;  // gpu/machine.hpp
class Wisdom;

class TuneMachine {
 public:
  // `device` is the GPU that device problems lie on, `operand_bytes` what is set aside there for each
  // operand.
  explicit TuneMachine(Isa isa, int device = 0, std::size_t operand_bytes = std::size_t(1) << 30);
  ~TuneMachine();

  Isa isa() const { return isa_; }
  int device() const { return device_; }
  Arena& arena() { return arena_; }
  Arena& second_arena() { return second_arena_; }  // of what is converted to another layout
  // What calls on this machine would be served by; null: the rule-of-thumb configs.
  const Wisdom* wisdom() const { return wisdom_; }
  void use_wisdom(const Wisdom* wisdom) { wisdom_ = wisdom; }
  // Opened by the first who asks. Throws Error(unsupported) where there is none or this build knows none.
  TuneGpu& gpu();

  // The name of what problems there run on, as records have it.
  std::string device_name(Location location);
  // The meter of where a problem runs. Throws Error(unsupported) naming the objective where there is none.
  EnergyMeter& meter(const TuneObjective& objective, Location location);

 private:
  Isa isa_;
  const Wisdom* wisdom_ = nullptr;
  int device_;
  std::size_t operand_bytes_;
  Arena arena_, second_arena_;
  std::unique_ptr<EnergyMeters> meters_;
  bool has_gpu_meter_ = false;
  std::shared_ptr<TuneGpu> gpu_;
};

}  // namespace tilewright
