// What kernels of small products keep on the stack, for those who run them on a thread that may have little.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/problem.hpp"
#include "gemm/operand.hpp"
#include "kernel/kernel_call.hpp"

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

}  // namespace tilewright
