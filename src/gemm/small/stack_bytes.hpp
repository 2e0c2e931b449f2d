// What kernels of small products keep on the stack, for those who run them on a thread that may have little.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/host/stack.hpp"
#include "core/problem.hpp"
#include "gemm/operand.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"

namespace tilewright {

// Of C before it goes to memory, besides the matrix: what is flushed at once, and parts of lines.
inline constexpr std::size_t staging_bytes = 4096 + 4 * 64;

// op(A), packed in whole vectors, and C where it is stored past the caches. The portable kernels have room
// for their largest problem.
inline std::size_t small_stack_bytes(const GemmProblem& p, const GemmSmallCpuConfig& config) {
  constexpr std::int64_t line = 16;  // elements
  if (is_interleaved(p)) return 0;
  const bool portable = config.isa == Isa::portable;
  const std::int64_t m = portable ? gemm_small_cpu_limit : p.m, k = portable ? gemm_small_cpu_limit : p.k;
  const std::int64_t packed =
      (portable || p.op_a != Op::none ? (m + line - 1) / line * line * k : 0) * std::max(1, config.sum_block);
  const bool stages = config.store != Store::plain;
  return std::size_t((packed + (stages ? m * p.n : 0)) * size_bytes(p.dtype)) + (stages ? staging_bytes : 0);
}

// On another stack where the kernel needs much.
inline void call_kernel(std::size_t stack_bytes, const GemmSmallCpuKernel& kernel,
                        const GemmSmallCpuArguments& arguments) {
  if (stack_bytes <= usual_stack_bytes) return kernel.function()(&arguments);
  struct Call {
    GemmSmallCpuFunction function;
    const GemmSmallCpuArguments* arguments;
  } call{kernel.function(), &arguments};
  call_with_stack(
      stack_bytes,
      [](void* given) {
        const auto& own = *static_cast<const Call*>(given);
        own.function(own.arguments);
      },
      &call);
}
inline void call_kernel(const GemmProblem& p, const GemmSmallCpuKernel& kernel,
                        const GemmSmallCpuArguments& arguments) {
  call_kernel(small_stack_bytes(p, kernel.config()), kernel, arguments);
}

}  // namespace tilewright
