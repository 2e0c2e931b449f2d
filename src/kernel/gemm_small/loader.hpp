// One loaded kernel of batched small GEMM on the GPU: compiled for a shape and a config, ready to be launched
// on any stream. It validates nothing and chooses nothing.
#pragma once

#include "kernel/gemm_small/gemm_small.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

// Sizes of problems of a variable batch, or of groups: problem firsts[g] is the first of group g.
struct GemmSmallSizeArrays {
  const std::int64_t* m = nullptr;
  const std::int64_t* n = nullptr;
  const std::int64_t* k = nullptr;
  const std::int64_t* lda = nullptr;
  const std::int64_t* ldb = nullptr;
  const std::int64_t* ldc = nullptr;
  const std::int64_t* firsts = nullptr;
  std::int64_t group_count = 0;  // 0 = sizes per problem
  int above = 0;                 // problems without a size above this belong to another launch
  bool last = true;              // no later launch takes problems that are too large for this one
};

// Lists of sums: the bases from which list entries count elements, null if the entries are addresses; entries
// from one product to the next; for sums of fixed length the number of products per C.
struct GemmSmallLists {
  const void* origin_a = nullptr;
  const void* origin_b = nullptr;
  void* origin_c = nullptr;
  std::int64_t step = 1;
  std::int64_t run = 1;
};

// Operands of a launch: addresses on the device, of arrays of addresses for pointer batches. Strides and
// leading dimensions are in elements and are read for operands that are strided, broadcast or have gaps in a
// pointer batch. The stride of an interleaved operand is the number of problems in its blocks.
struct GemmSmallOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* alpha = nullptr;  // host addresses of values of the kernel's type, unless scalars vary
  const void* beta = nullptr;
  std::int64_t count = 0;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  // The following lie on the device.
  const void* alphas = nullptr;  // one per problem, if scalars vary
  const void* betas = nullptr;
  GemmSmallSizeArrays sizes = {};
  GemmSmallLists lists = {};
  int* info = nullptr;  // set to zero by the caller; receives the codes of bad problems of pointer batches
  std::int64_t info_step = 1;  // 0: one code for all
};

// Converts a call's operands, for a batch with one size or with sizes of its own, to those of the kernel:
// alpha and beta are one value each on the host, or with `scalars_vary` one per problem on the device.
GemmSmallOperands gemm_small_operands(const GemmProblem& problem, const Operands& operands,
                                      bool scalars_vary = false);

class GemmSmallKernel {
 public:
  GemmSmallKernel(const Gpu& gpu, const JitBinary& binary, const GemmSmallShape& shape,
                  const GemmSmallConfig& config, DType dtype);

  // Returns the launch for `count` problems; computed once, used many times.
  GpuLaunch geometry(std::int64_t count) const;
  void launch(const GemmSmallOperands& operands, const GpuLaunch& geometry, CUstream_st* stream) const;

  // `blocks` above 0 replaces the number of blocks, for tests that need many iterations from a small batch.
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

// Returns the compiler's request for the instance of the stencil.
StencilRequest gemm_small_request(const GemmSmallShape& shape, const GemmSmallConfig& config, DType dtype,
                                  int compute_capability);

// Compiles the instance for the device's architecture, through the compiler's cache.
JitBinary compile_gemm_small(const StencilCompiler& compiler, const GemmSmallShape& shape,
                             const GemmSmallConfig& config, DType dtype, int compute_capability);

}  // namespace tilewright
