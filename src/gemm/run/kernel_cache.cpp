// What of a problem enters the code of its kernel.
#include "gemm/run/kernel_cache.hpp"

#include "gemm/operand.hpp"

namespace tilewright {
namespace {

// Packed and broadcast strides stay; all others become one that is neither.
std::int64_t stride_class(std::int64_t stride, std::int64_t packed_stride) {
  return stride == 0 || stride == packed_stride ? stride : packed_stride + 1;
}

}  // namespace

GemmProblem code_relevant(GemmProblem problem) {
  problem = without_levels(problem);
  problem.residency = Residency::automatic;
  problem.run = 1;
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

std::size_t kernel_memory_bytes(const std::shared_ptr<const GemmSmallCpuKernel>& kernel) {
  constexpr std::size_t page_bytes = 4096;
  const auto code = std::size_t(kernel->counts().code_bytes);
  return ((code + page_bytes - 1) / page_bytes + 1) * page_bytes;
}

std::shared_ptr<const GemmSmallCpuKernel> KernelCache::get(const GemmProblem& problem,
                                                           const GemmSmallCpuConfig& config) {
  const Key key{code_relevant(problem), config};
  return kernels_.get(key, [&] { return make_gemm_small_cpu(key.problem, config); });
}

}  // namespace tilewright
