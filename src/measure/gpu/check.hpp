// Operands on a device for check_sampled, in an arena the host knows, and buffers for check_small.
#pragma once

#include "measure/check_sampled.hpp"
#include "measure/check_small.hpp"
#include "measure/gpu/arena.hpp"

namespace tilewright {

// Checks the problem at the beginning of the arena's operands, which fill() has filled for its type: single,
// strided, interleaved, or by pointers in any order to matrices gpu_pointer_distance() apart.
SampledCheck sampled_check(const GpuArena& arena, const GemmProblem& problem, std::complex<double> alpha,
                           std::complex<double> beta);

class GpuMemory : public CheckMemory {
 public:
  explicit GpuMemory(const Gpu& gpu) : gpu_(gpu) {}
  std::shared_ptr<std::byte> place(const void* from, std::size_t bytes) const override;
  void read(void* to, const std::byte* from, std::size_t bytes) const override;

 private:
  const Gpu& gpu_;
};

}  // namespace tilewright
