// What differs between the families of GPU kernels that are tuned: how a config is compiled and loaded, and
// which small problems show whether it is right. Checking and timing are one body for all of them (pool.hpp),
// choosing and deciding one for CPU and GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "kernel/jit/stencil.hpp"
#include "measure/gpu/arena.hpp"
#include "measure/small_batch.hpp"

namespace tilewright {

// Something loaded that multiplies one problem on the GPU: a kernel of ours or the vendor's library.
class GpuTrial {
 public:
  virtual ~GpuTrial() = default;
  // A batch so small that every element can be checked, with whatever edges the kernel has.
  virtual SmallCase edges() const = 0;
  virtual void run_edges(const Operands& operands) const = 0;
  // Queues the problem itself on operands.stream.
  virtual void run(const Operands& operands) const = 0;
};

// The kernels of one problem's configs, the default first.
class GpuKernels {
 public:
  virtual ~GpuKernels() = default;
  virtual const char* family() const = 0;
  virtual std::size_t size() const = 0;
  virtual nlohmann::json fields(std::size_t i) const = 0;
  // From any thread. Throws, with the reason, when it does not compile or what the compiler reports forbids
  // running it.
  virtual JitBinary compile(std::size_t i) const = 0;
  // Throws Error(unsupported) when it does not fit the device.
  virtual std::unique_ptr<GpuTrial> load(std::size_t i, const JitBinary& binary) const = 0;
};

// Those of any config struct.
template <class Config>
class GpuKernelsOf : public GpuKernels {
 public:
  explicit GpuKernelsOf(std::vector<Config> configs) : configs_(std::move(configs)) {}
  std::size_t size() const override { return configs_.size(); }
  nlohmann::json fields(std::size_t i) const override { return to_json(configs_[i]); }

 protected:
  const Config& config(std::size_t i) const { return configs_[i]; }

 private:
  std::vector<Config> configs_;
};

// Of the arena's operands and of the batches in them.
inline constexpr int gpu_operand_align = 128;

}  // namespace tilewright
