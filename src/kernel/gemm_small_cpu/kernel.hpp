// Batched small GEMM on the CPU: its space, its default config, and the kernel made for one problem and
// config, which computes a run of problems on the calling thread and checks nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "core/problem.hpp"
#include "kernel/gemm_small_cpu/config.hpp"
#include "kernel/jit/counts.hpp"
#include "kernel/space.hpp"

namespace tilewright {

inline constexpr std::int64_t gemm_small_cpu_limit = 64;  // largest m, n, k of the family

class GemmSmallCpuKernel;

// A kernel call on `count` consecutive problems; strides are in bytes. Pointer batch: a, b and c are the
// addresses of the first problem's entries in the arrays of pointers, and A's, B's and C's strides are not
// read. Interleaved batch: a run begins at a block boundary or lies within a block; stride_* are the bytes
// between blocks. Only kernels for interleaved batches accept a general alpha or beta that is 0.
struct GemmSmallCpuArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t count = 0;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  std::int64_t alpha_stride = 0;
  std::int64_t beta_stride = 0;
  // The kernel whose function() is called: portable kernels read their problem from it, generated ones ignore
  // it.
  const GemmSmallCpuKernel* self = nullptr;
};
using GemmSmallCpuFunction = void (*)(const GemmSmallCpuArguments*);

class GemmSmallCpuKernel {
 public:
  virtual ~GemmSmallCpuKernel() = default;
  GemmSmallCpuFunction function() const { return function_; }
  const KernelCounts& counts() const { return counts_; }
  const GemmSmallCpuConfig& config() const { return config_; }

 protected:
  GemmSmallCpuFunction function_ = nullptr;
  KernelCounts counts_;
  GemmSmallCpuConfig config_;
};

// Returns the legal configs for `problem` with kernels for `isa`.
Space<GemmSmallCpuConfig> gemm_small_cpu_space(const GemmProblem& problem, Isa isa);

// Returns a few hundred points of that space worth measuring for the problem's residency, for `tune`. The
// whole space can hold millions: draw from it with Space::sample.
Space<GemmSmallCpuConfig> gemm_small_cpu_search(const GemmProblem& problem, Isa isa);

// Returns the config used if wisdom has no near record: always a point of the space.
GemmSmallCpuConfig gemm_small_cpu_default(const GemmProblem& problem, Isa isa);

// Generates (avx2, avx512) or binds (portable) the kernel. Residency, batch_count and strides do not enter
// the code, unless packed or zero. Throws Error(unsupported) if the operating system forbids generated code.
std::shared_ptr<const GemmSmallCpuKernel> make_gemm_small_cpu(const GemmProblem& problem,
                                                              const GemmSmallCpuConfig& config);

}  // namespace tilewright
