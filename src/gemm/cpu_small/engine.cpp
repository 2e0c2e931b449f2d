// Stack sizes of kernels, and the addresses that they get.
#include "gemm/cpu_small/engine.hpp"

#include <algorithm>

namespace tilewright {
namespace {

// Kernels pack op(A) in whole vectors, and stage C if it bypasses caches: all of it, the flushed part, and
// partial lines. The portable kernels reserve room for their largest problem.
std::size_t stack_bytes(const GemmProblem& p, const GemmSmallCpuConfig& config) {
  constexpr std::int64_t line = 16;  // elements
  constexpr std::size_t staging_bytes = 4096 + 4 * 64;
  if (is_interleaved(p)) return 0;
  const bool portable = config.isa == Isa::portable;
  const std::int64_t m = portable ? gemm_small_cpu_limit : p.m, k = portable ? gemm_small_cpu_limit : p.k;
  const std::int64_t packed =
      (portable || p.op_a != Op::none ? (m + line - 1) / line * line * k : 0) * std::max(1, config.sum_block);
  const bool stages = config.store != Store::plain;
  return std::size_t((packed + (stages ? m * p.n : 0)) * size_bytes(p.dtype)) + (stages ? staging_bytes : 0);
}

}  // namespace

double small_problem_s(const GemmProblem& p) {
  constexpr double problem_s = 10e-9, multiply_add_s = 40e-12;
  return problem_s + multiply_add_s * (is_complex(p.dtype) ? 4 : 1) * double(p.m * p.n * p.k);
}

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
