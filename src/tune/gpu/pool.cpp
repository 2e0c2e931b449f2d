// Setting up what is timed.
#include "tune/gpu/pool.hpp"

#include <algorithm>

namespace tilewright {
namespace {

// Batches of small problems take the whole arena, so that no cache holds any of them; large ones are timed as
// they come.
GemmProblem timed_problem_on(const GpuArena& arena, GemmProblem p, bool small) {
  p.residency = Residency::cold;
  if (!small) return p;
  GemmProblem one = p;
  one.batch_count = one.block = 1;
  const GpuOperandBytes each = gpu_operand_bytes(one);
  const std::int64_t size = size_bytes(p.dtype);
  std::int64_t elements =
      std::max({std::int64_t(std::max({each.a, each.b, each.c})) / size, p.stride_a, p.stride_b, p.stride_c});
  if (p.layout == Layout::pointer) elements = gpu_pointer_distance(elements, size);
  const std::int64_t count = std::int64_t(arena.operand_bytes()) / (elements * size);
  const std::int64_t in_block = p.layout == Layout::block_interleaved ? p.block : 1;
  p.batch_count = std::max(in_block, count / in_block * in_block);
  if (p.layout == Layout::interleaved) p.block = p.batch_count;
  return p;
}

}  // namespace

GpuPool::GpuPool(const GemmProblem& problem, const StencilCompiler& compiler, const GpuChoiceRules& rules,
                 GpuArena& arena) {
  const bool small = gpu_family_of(problem) == "gemm_small";
  timed_ = timed_problem_on(arena, problem, small);
  // One matrix or block may be larger than what was set aside for many.
  const GpuOperandBytes needed = gpu_operand_bytes(timed_);
  check_gpu_memory("PROBLEM", timed_, needed, arena.gpu().limits());
  arena.reserve(needed);
  family_ = make_gpu_family(timed_, compiler, rules, arena);
  GpuVendor vendor;
  if (!small && !rules.incumbent_only) vendor = open_gpu_vendor(arena.gpu(), timed_);
  vendor_absence_ = vendor.absence;
  candidates_ = std::make_unique<GpuConfigKernels>(timed_, *family_, std::move(vendor), arena);
}

}  // namespace tilewright
