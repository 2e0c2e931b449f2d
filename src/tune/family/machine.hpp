// The machine that problems are tuned on: instruction set and memory of the host and, once a problem needs
// it, a GPU with its compiler and memory, each with its energy meter.
#pragma once

#include <memory>
#include <string>

#include "core/objective.hpp"
#include "core/problem.hpp"
#include "device/energy_meter.hpp"
#include "kernel/gemm_small_cpu/config.hpp"
#include "measure/buffers.hpp"

namespace tilewright {

class TuneGpu;  // gpu/pool.hpp
class Wisdom;

class TuneMachine {
 public:
  // `device`: the GPU of device problems; `operand_bytes`: reserved there for each operand.
  explicit TuneMachine(Isa isa, int device = 0, std::size_t operand_bytes = std::size_t(1) << 30);
  ~TuneMachine();

  Isa isa() const { return isa_; }
  int device() const { return device_; }
  Arena& arena() { return arena_; }
  Arena& second_arena() { return second_arena_; }  // of converted operands
  // The wisdom of calls on this machine; null: the default configs.
  const Wisdom* wisdom() const { return wisdom_; }
  void use_wisdom(const Wisdom* wisdom) { wisdom_ = wisdom; }
  // Opened on first use. Throws Error(unsupported) without a GPU or a GPU runtime.
  TuneGpu& gpu();

  // The name of the CPU or GPU, as records have it.
  std::string device_name(Location location);
  // Throws Error(unsupported) naming the objective if there is no meter.
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
