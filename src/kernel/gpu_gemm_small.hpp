// One loaded kernel of batched small GEMM on the GPU: compiled for a shape and a config, ready to be launched
// on any stream. It validates nothing and chooses nothing.
#pragma once

#include "kernel/gemm_small.hpp"
#include "kernel/gpu_stencil.hpp"

namespace tilewright {

// Addresses on the device; strides and leading dimensions in elements, read for strided operands only.
struct GemmSmallOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* alpha = nullptr;  // host addresses of values of the kernel's type
  const void* beta = nullptr;
  std::int64_t count = 0;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
};

class GemmSmallKernel {
 public:
  GemmSmallKernel(const Gpu& gpu, const JitBinary& binary, const GemmSmallShape& shape,
                  const GemmSmallConfig& config, DType dtype);

  // The launch for `count` problems: asked for once, used many times.
  GpuLaunch geometry(std::int64_t count) const;
  void launch(const GemmSmallOperands& operands, const GpuLaunch& geometry, CUstream_st* stream) const;

  // `blocks` above 0 replaces the number of blocks, for tests that want many turns from a small batch.
  void launch(const GemmSmallOperands& operands, CUstream_st* stream, unsigned blocks = 0) const;

  const GpuFunction& function() const { return function_; }
  const GemmSmallConfig& config() const { return config_; }
  int blocks_per_multiprocessor() const { return blocks_per_multiprocessor_; }
  int shared_bytes() const { return shared_bytes_; }

 private:
  const Gpu* gpu_;
  GemmSmallShape shape_;
  GemmSmallConfig config_;
  DType dtype_;
  int shared_bytes_ = 0;
  int blocks_per_multiprocessor_ = 0;
  GpuModule module_;
  GpuFunction function_;
};

// The instance of the stencil as the compiler is asked for it.
StencilRequest gemm_small_request(const GemmSmallShape& shape, const GemmSmallConfig& config, DType dtype,
                                  int compute_capability);

// Compiles the instance for the device's architecture, through the compiler's cache.
JitBinary compile_gemm_small(const StencilCompiler& compiler, const GemmSmallShape& shape,
                             const GemmSmallConfig& config, DType dtype, int compute_capability);

}  // namespace tilewright
