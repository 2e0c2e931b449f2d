// Look-up under a shared lock, generation under none: two threads may generate the same kernel at once, and
// the first to finish keeps its place. That costs some microseconds once and never blocks a reader behind a
// generator.
#include "gemm/kernel_cache.hpp"

#include "gemm/operand.hpp"

namespace tilewright {
namespace {

// Packed and broadcast strides stay; all others become one that is neither.
std::int64_t stride_class(std::int64_t stride, std::int64_t packed_stride) {
  return stride == 0 || stride == packed_stride ? stride : packed_stride + 1;
}

}  // namespace

GemmProblem code_relevant(GemmProblem problem) {
  problem.residency = Residency::automatic;
  if (is_interleaved(problem)) {
    problem.layout = Layout::block_interleaved;
    problem.batch_count = problem.block;
  } else if (problem.layout != Layout::single) {
    problem.batch_count = 2;  // the smallest batch, so that "packed" still means something
  }
  problem.stride_a = stride_class(problem.stride_a, problem.lda * problem.a_cols());
  problem.stride_b = stride_class(problem.stride_b, problem.ldb * problem.b_cols());
  problem.stride_c = stride_class(problem.stride_c, problem.ldc * problem.n);
  return problem;
}

std::shared_ptr<const GemmSmallCpuKernel> KernelCache::get(const GemmProblem& problem,
                                                           const GemmSmallCpuConfig& config) {
  const Key key{code_relevant(problem), config};
  {
    std::shared_lock lock(mutex_);
    if (auto it = kernels_.find(key); it != kernels_.end()) return it->second;
  }
  auto kernel = make_gemm_small_cpu(key.problem, config);
  std::unique_lock lock(mutex_);
  if (kernels_.size() >= largest_count) kernels_.clear();
  return kernels_.try_emplace(key, std::move(kernel)).first->second;
}

std::size_t KernelCache::size() const {
  std::shared_lock lock(mutex_);
  return kernels_.size();
}

}  // namespace tilewright
