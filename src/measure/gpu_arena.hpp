// The device memory that measured cases share: three operands of at least a gibibyte, filled with random
// values, and arrays of pointers into them. It knows no problems.
#pragma once

#include <optional>

#include "core/problem.hpp"
#include "device/gpu.hpp"

namespace tilewright {

class GpuArena {
 public:
  GpuArena(const Gpu& gpu, std::size_t operand_bytes);

  // Uniform random values of the type; does nothing when it holds them already.
  void fill(DType dtype);

  const Gpu& gpu() const { return gpu_; }
  std::size_t operand_bytes() const { return a_.bytes(); }
  void* a() const { return a_.as<void>(); }
  void* b() const { return b_.as<void>(); }
  void* c() const { return c_.as<void>(); }
  // What streaming loops write instead of C, whose numbers would not stay numbers.
  void* streamed_c() const { return streamed_c_.as<void>(); }
  // Room for `bytes` of pointers of each operand, made when it is needed.
  GpuBuffer& pointers(int operand, std::size_t bytes);

 private:
  const Gpu& gpu_;
  GpuBuffer a_, b_, c_, streamed_c_;
  std::optional<GpuBuffer> pointers_[3];
  std::optional<DType> filled_;
};

}  // namespace tilewright
