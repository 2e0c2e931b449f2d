// Batched small GEMM on the CPU: the space of its configs, the rule-of-thumb config used without wisdom, and
// the kernel made for one problem and config. A kernel processes a run of problems on the calling thread;
// threads, validation and the choice of the config belong to gemm/.
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

// What a kernel is called with: `count` consecutive problems. All strides are in bytes. For a pointer batch
// a, b and c are the addresses of the first problem's entries in the arrays of pointers, and the strides of
// A, B, C are not read (consecutive entries). For an interleaved batch count is the number of problems; a run
// starts at a block boundary, or inside a block that it does not leave; stride_* are the bytes from one block
// to the next. Where a general alpha or beta may be 0, kernels for interleaved batches see to it; the others
// are not called with one.
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
  // it; whoever fills the rest sets it to kernel.get().
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

// The legal configs for `problem` with kernels for `isa`.
Space<GemmSmallCpuConfig> gemm_small_cpu_space(const GemmProblem& problem, Isa isa);

// A few hundred points of that space worth measuring for the problem's residency: what `tune` walks. The
// whole space can hold millions; draw from it with Space::sample.
Space<GemmSmallCpuConfig> gemm_small_cpu_search(const GemmProblem& problem, Isa isa);

// The config used when wisdom knows nothing near: always a point of the space.
GemmSmallCpuConfig gemm_small_cpu_default(const GemmProblem& problem, Isa isa);

// Generates (avx2, avx512) or binds (portable) the kernel. The problem's residency and batch_count do not
// enter the code, nor do the strides except for whether they are packed or zero. Throws Error(unsupported)
// where the operating system forbids generated code.
std::shared_ptr<const GemmSmallCpuKernel> make_gemm_small_cpu(const GemmProblem& problem,
                                                              const GemmSmallCpuConfig& config);

}  // namespace tilewright
