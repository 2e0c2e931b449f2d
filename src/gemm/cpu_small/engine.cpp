// Stack sizes of kernels, and the addresses that they get.
#include "gemm/cpu_small/engine.hpp"

#include <algorithm>

#include "kernel/gemm_small_cpu/portable.hpp"

namespace tilewright {
namespace {

// Kernels pack op(A) in whole vectors, and stage C if it bypasses caches: all of it, the flushed part, and
// partial lines. The portable kernels reserve room for their largest problem.
std::size_t stack_bytes(const GemmProblem& p, const GemmSmallCpuConfig& config) {
  constexpr std::int64_t line = 16, limit = gemm_small_cpu_limit;  // elements
  constexpr std::size_t staging_bytes = 4096 + 4 * 64;
  if (is_interleaved(p)) return 0;
  const auto size = std::size_t(size_bytes(p.dtype));
  if (config.isa == Isa::portable) {
    const bool packs = p.op_a != Op::none || !portable_tiles(p.dtype).masked_memory;
    return packs ? std::size_t(limit * limit) * size : 0;
  }
  const std::int64_t packed =
      (p.op_a != Op::none ? (p.m + line - 1) / line * line * p.k : 0) * std::max(1, config.sum_block);
  const bool stages = config.store != Store::plain;
  return std::size_t(packed + (stages ? p.m * p.n : 0)) * size + (stages ? staging_bytes : 0);
}

}  // namespace

BoundKernel::BoundKernel(const GemmProblem& problem, const GemmSmallCpuKernel& kernel)
    : kernel_(&kernel), stack_bytes_(stack_bytes(problem, kernel.config())) {}

KernelCall kernel_call(const GemmProblem& p, const OperandLayouts& layouts, const Operands& o,
                       std::int64_t first, std::int64_t count) {
  const std::int64_t size = size_bytes(p.dtype), step = problems_per_step(p);
  const auto offset = [&](const OperandLayout& layout) {
    if (p.layout == Layout::pointer) return first * std::int64_t(sizeof(void*));
    return (layout.offset(first / step) + first % step) * size;
  };
  KernelCall call(o.a, o.b, o.c, nullptr, nullptr, count);
  // A single problem takes no step, and its strides may be anything.
  if (p.batch_count > 1)
    call.strided(count, layouts[0].step * size, layouts[1].step * size, layouts[2].step * size);
  const std::int64_t alpha_stride = o.alpha_stride * size, beta_stride = o.beta_stride * size;
  call.scaled(advanced(o.alpha, first * alpha_stride), advanced(o.beta, first * beta_stride), alpha_stride,
              beta_stride);
  return call.moved(offset(layouts[0]), offset(layouts[1]), offset(layouts[2]));
}

}  // namespace tilewright
