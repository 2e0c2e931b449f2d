// The CPU kernels one Context has generated, found again by what their code depends on. Safe for many
// threads; a kernel lives as long as the cache or a plan holds it.
#pragma once

#include "core/bounded_map.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"

namespace tilewright {

// What one kernel takes of memory: its pages of code and what stands beside them, two pages at least.
std::size_t kernel_memory_bytes(const std::shared_ptr<const GemmSmallCpuKernel>& kernel);

class KernelCache {
 public:
  // The kernel for the problem and config, generated at the first request. Throws what make_gemm_small_cpu
  // throws.
  std::shared_ptr<const GemmSmallCpuKernel> get(const GemmProblem& problem, const GemmSmallCpuConfig& config);
  // The same of the problem with another beta, where the config may not be legal: else by the rule of thumb.
  std::shared_ptr<const GemmSmallCpuKernel> get(GemmProblem problem, Scalar beta,
                                                const GemmSmallCpuConfig& config) {
    problem.beta = beta;
    const bool serves = gemm_small_cpu_space(problem, config.isa).contains(config);
    return get(problem, serves ? config : gemm_small_cpu_default(problem, config.isa));
  }

 private:
  // Each kernel keeps a mapping of its own, of which a process has 65530 by default: these are 8192 at most.
  // Plans hold what they use.
  static constexpr std::size_t largest_bytes = 64 << 20;
  struct Key {
    GemmProblem problem;  // reduced to the fields that enter the code
    GemmSmallCpuConfig config;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return hash_fields(key.problem) * 31 + hash_fields(key.config);
    }
  };

  BoundedMap<Key, GemmSmallCpuKernel, KeyHash> kernels_{largest_bytes, kernel_memory_bytes};
};

// The problem whose kernel also serves `problem`: residency and batch_count do not enter the code, strides
// only by being packed, zero or neither.
GemmProblem code_relevant(GemmProblem problem);

}  // namespace tilewright
