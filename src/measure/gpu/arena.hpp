// The device memory that measured cases share: three operands filled with random values that the host knows.
// It knows only how much memory the problems need.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "measure/buffers.hpp"

namespace tilewright {

// The bytes of each operand.
struct GpuOperandBytes {
  std::size_t a = 0, b = 0, c = 0;
};

class GpuArena {
 public:
  GpuArena(const Gpu& gpu, std::size_t operand_bytes);

  // Makes each operand at least this large. An operand that has to grow loses its contents, and earlier
  // addresses become invalid.
  void reserve(const GpuOperandBytes& bytes);

  // Fills all operands with random values of the type; does nothing if they hold these already.
  void fill(DType dtype, Data kind = Data::uniform);
  // Returns a value that fill() wrote, as a number of the real type: `index` counts real numbers from the
  // beginning of operand 0 (A), 1 (B) or 2 (C).
  double real_at(int operand, std::int64_t index) const;

  const Gpu& gpu() const { return gpu_; }
  std::size_t operand_bytes() const;  // of the smallest
  const GpuOperandBytes& bytes() const { return bytes_; }
  void* a() const { return operands_[0]->as<void>(); }
  void* b() const { return operands_[1]->as<void>(); }
  void* c() const { return operands_[2]->as<void>(); }
  // Returns operand_bytes() of zeros that streaming loops write instead of C, since their results are not
  // valid numbers.
  void* streamed_c();

 private:
  const Gpu& gpu_;
  GpuOperandBytes bytes_;
  std::optional<GpuBuffer> operands_[3], streamed_c_;
  std::optional<std::pair<DType, Data>> filled_;
  std::vector<double> wide_[3];  // one period of each operand; only those of the current type are filled
  std::vector<float> narrow_[3];
};

}  // namespace tilewright
