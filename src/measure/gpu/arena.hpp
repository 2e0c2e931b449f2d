// The device memory that measured cases share: three operands filled with random values that the host knows.
// It knows no problems beyond what they need.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "measure/buffers.hpp"

namespace tilewright {

// Bytes of each operand.
struct GpuOperandBytes {
  std::size_t a = 0, b = 0, c = 0;
};

class GpuArena {
 public:
  GpuArena(const Gpu& gpu, std::size_t operand_bytes);

  // Makes each operand at least so large. One that has to grow loses what it held, so that addresses from
  // before are void.
  void reserve(const GpuOperandBytes& bytes);

  // Random values of the type; does nothing when it holds them already.
  void fill(DType dtype, Data kind = Data::uniform);
  // What fill() wrote there, as numbers of the real type: `index` counts real numbers from the beginning of
  // operand 0 (A), 1 (B) or 2 (C).
  double real_at(int operand, std::int64_t index) const;

  const Gpu& gpu() const { return gpu_; }
  std::size_t operand_bytes() const;  // of the smallest
  const GpuOperandBytes& bytes() const { return bytes_; }
  void* a() const { return operands_[0]->as<void>(); }
  void* b() const { return operands_[1]->as<void>(); }
  void* c() const { return operands_[2]->as<void>(); }
  // What streaming loops write instead of C, whose numbers would not stay numbers: operand_bytes() of zeros.
  void* streamed_c();

 private:
  const Gpu& gpu_;
  GpuOperandBytes bytes_;
  std::optional<GpuBuffer> operands_[3], streamed_c_;
  std::optional<std::pair<DType, Data>> filled_;
  std::vector<double> wide_[3];  // one period of each operand; those of the type in use hold something
  std::vector<float> narrow_[3];
};

}  // namespace tilewright
