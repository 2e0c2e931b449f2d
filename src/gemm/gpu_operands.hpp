// Operands in device memory as far as the host can judge them: alignment, ranges that certainly share
// elements and, when asked for, whose memory it is.
#pragma once

#include <cstdint>

#include "core/problem.hpp"
#include "device/gpu.hpp"

namespace tilewright {

// The largest power of two up to 16, at least the size of an element, that all of the addresses are multiples
// of. Null addresses count as aligned.
inline int common_alignment(DType dtype, const void* a, const void* b, const void* c) {
  const auto bits = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) |
                    reinterpret_cast<std::uintptr_t>(c) | 16u;  // more helps no copy that the kernels make
  const int least = static_cast<int>(bits & (~bits + 1)), size = static_cast<int>(size_bytes(dtype));
  return least > size ? least : size;
}

class GpuOperandCheck {
 public:
  // `gpu` is null, or asked about every address.
  GpuOperandCheck(const GemmProblem& problem, int align_bytes, const Gpu* gpu);

  // Throws Error(invalid_argument) naming the operand, its address and what is wrong.
  void check(const Operands& operands, bool reads_ab) const;

 private:
  void check_one(const char* name, const void* address, std::int64_t bytes) const;
  void check_apart(const char* name, const void* address, std::int64_t bytes, bool dense,
                   const void* c) const;

  std::int64_t a_bytes_, b_bytes_, c_bytes_;  // from the first to behind the last element
  bool a_dense_, b_dense_, c_dense_;
  bool pointers_;
  int align_bytes_;
  const Gpu* gpu_;
};

}  // namespace tilewright
