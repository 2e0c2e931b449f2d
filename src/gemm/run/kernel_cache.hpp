// The CPU kernels that one Context has generated, found by what their code depends on. Safe for many threads;
// a kernel lives as long as the cache or a plan holds it.
#pragma once

#include "core/bounded_map.hpp"
#include "gemm/operand.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "kernel/jit/perf_map.hpp"

namespace tilewright {

// Returns the memory of one kernel: its pages of code and a page for its other data.
inline std::size_t kernel_memory_bytes(const std::shared_ptr<const GemmSmallCpuKernel>& kernel) {
  constexpr std::size_t page_bytes = 4096;
  const auto code = std::size_t(kernel->counts().code_bytes);
  return ((code + page_bytes - 1) / page_bytes + 1) * page_bytes;
}

class KernelCache {
 public:
  // Returns the kernel for the problem and config, generated at the first request. Throws the errors of
  // make_gemm_small_cpu.
  std::shared_ptr<const GemmSmallCpuKernel> get(const GemmProblem& problem,
                                                const GemmSmallCpuConfig& config) {
    const Key key{code_relevant(problem), config};
    return kernels_.get(key, [&] { return make_named_kernel(key.problem, config); });
  }
  // The same with another beta, and with the default config if `config` is not legal for it.
  std::shared_ptr<const GemmSmallCpuKernel> get(GemmProblem problem, Scalar beta,
                                                const GemmSmallCpuConfig& config) {
    problem.beta = beta;
    const bool serves = gemm_small_cpu_space(problem, config.isa).contains(config);
    return get(problem, serves ? config : gemm_small_cpu_default(problem, config.isa));
  }

 private:
  // Each kernel has a mapping (a process has 65530 by default); the cache holds 8192. Plans hold theirs.
  static constexpr std::size_t largest_bytes = 64 << 20;
  struct Key {
    GemmProblem problem;  // reduced to the fields that enter the code
    GemmSmallCpuConfig config;
    friend bool operator==(const Key&, const Key&) = default;
  };
  // Residency, arrival and batch count do not enter the code; of a stride only whether it is packed, zero or
  // neither.
  static GemmProblem code_relevant(GemmProblem problem) {
    const auto stride_class = [](std::int64_t stride, std::int64_t packed_stride) {
      return stride == 0 || stride == packed_stride ? stride : packed_stride + 1;
    };
    problem = without_levels(problem);
    problem.residency = Residency::automatic;
    problem.arrival = Arrival::back_to_back;
    problem.run = 1;
    if (is_interleaved(problem)) {
      problem.layout = Layout::block_interleaved;
      problem.batch_count = problem.block;
    } else if (problem.layout != Layout::single) {
      problem.batch_count = 2;  // the smallest batch, so that "packed" has a meaning
    }
    problem.stride_a = stride_class(problem.stride_a, problem.lda * problem.a_cols());
    problem.stride_b = stride_class(problem.stride_b, problem.ldb * problem.b_cols());
    problem.stride_c = stride_class(problem.stride_c, problem.ldc * problem.n);
    return problem;
  }

  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return hash_fields(key.problem) * 31 + hash_fields(key.config);
    }
  };

  BoundedMap<Key, GemmSmallCpuKernel, KeyHash> kernels_{largest_bytes, kernel_memory_bytes};
};

}  // namespace tilewright
