// The loaded kernels of batched small GEMM on the GPU, for any stream: of a shape and config, and the one
// that adds up the parts of one sum of products. They check nothing.
#pragma once

#include "kernel/gemm_small/gemm_small.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

// Sizes of problems of a variable batch, or of groups: problem firsts[g] is the first of group g.
struct GemmSmallSizeArrays : VariableSizes {
  const std::int64_t* firsts = nullptr;
  std::int64_t group_count = 0;  // 0 = sizes per problem
  int above = 0;                 // problems without a size above this belong to another launch
  bool last = true;              // no later launch takes problems that are too large for this one
};

// Lists of sums: bases from which entries count elements (null: addresses); entries between products; for
// sums of fixed length the products per C.
struct GemmSmallLists : ProductLists {
  std::int64_t run = 1;
};

// Operands of a launch, on the device; arrays of addresses for pointer batches. Strides and leading
// dimensions are in elements, read for strided or broadcast operands or pointer batches with gaps. An
// interleaved operand's stride is the problems of its blocks.
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

// Converts a call's operands: alpha and beta are one value each on the host, or with `scalars_vary` one per
// problem on the device.
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

// The number of parts of `count` products of one C, and the products of each (the last may have fewer): by
// count and size of C alone, so that results are bitwise reproducible.
struct GemmSmallParts {
  std::int64_t count = 0;
  std::int64_t run = 1;
};
GemmSmallParts gemm_small_parts(const GemmProblem& problem, std::int64_t count);
// Returns the bytes of the parts of up to `count` products.
std::size_t gemm_small_parts_bytes(const GemmProblem& problem, std::int64_t count);

class GemmSmallTotal {
 public:
  GemmSmallTotal(const Gpu& gpu, const JitBinary& binary, DType dtype);

  // Computes C = alpha (the sum of `part_count` parts of m x n elements) + beta C. C lies at `c` or, if null,
  // at the address stored at `c_at`; alpha and beta lie on the host, beta null for a C that is not read.
  void launch(const GemmProblem& problem, const void* parts, std::int64_t part_count, void* c,
              const void* c_at, const void* alpha, const void* beta, CUstream_st* stream) const;

 private:
  DType dtype_;
  GpuModule module_;
  GpuFunction function_;
};

// Queues C = alpha (sum of `count` >= 1 products) + beta C on operands.stream: `kernel` forms the parts in
// `scratch` (gemm_small_parts_bytes()), and `total` adds them up. For a pointer batch operands.c is an array
// of one address, or operands.lists.c is C.
void gemm_small_reduce(const GemmSmallKernel& kernel, const GemmSmallTotal& total, const GemmProblem& problem,
                       const Operands& operands, std::int64_t count, void* scratch);
// Computes C = beta C for the same operands.
void gemm_small_reduce_nothing(const GemmSmallTotal& total, const GemmProblem& problem,
                               const Operands& operands);

StencilRequest gemm_small_total_request(DType dtype, int compute_capability);

}  // namespace tilewright
