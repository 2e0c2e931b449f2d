// What kernels of small products keep on the stack, for those who run them on a thread that may have little.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/problem.hpp"
#include "device/stack.hpp"
#include "gemm/operand.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"

namespace tilewright {

// op(A), packed in whole vectors, and C where it is stored past the caches. The portable kernels have room
// for their largest problem.
inline std::size_t small_stack_bytes(const GemmProblem& p, const GemmSmallCpuConfig& config) {
  constexpr std::int64_t line = 16;  // elements
  if (is_interleaved(p)) return 0;
  const bool portable = config.isa == Isa::portable;
  const std::int64_t m = portable ? gemm_small_cpu_limit : p.m, k = portable ? gemm_small_cpu_limit : p.k;
  const std::int64_t packed =
      (portable || p.op_a != Op::none ? (m + line - 1) / line * line * k : 0) * std::max(1, config.sum_block);
  const std::int64_t staged = config.store == Store::plain ? 0 : m * p.n;
  return std::size_t((packed + staged) * size_bytes(p.dtype));
}

// On another stack where the kernel needs much and the calling thread has little left.
inline void call_kernel(const GemmProblem& p, const GemmSmallCpuKernel& kernel,
                        const GemmSmallCpuArguments& arguments) {
  const std::size_t bytes = small_stack_bytes(p, kernel.config());
  if (bytes <= usual_stack_bytes) return kernel.function()(&arguments);
  with_stack(bytes, [&] { kernel.function()(&arguments); });
}

}  // namespace tilewright
