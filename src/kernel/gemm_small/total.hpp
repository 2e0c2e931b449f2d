// The loaded kernel that adds up the parts of one sum of products. It validates nothing.
#pragma once

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "kernel/gemm_small/loader.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

// The parts into which `count` products of one C are split: their number, and the products of each; the last
// may have fewer. This depends on the number of products and the size of C alone, so that results are bitwise
// reproducible whatever else the device does.
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

  // Computes C = alpha (the sum of `part_count` parts of m x n elements) + beta C. C lies at `c` or, if that
  // is null, at the address stored at `c_at`, all on the device; alpha and beta lie on the host, beta null
  // for a C that is not read.
  void launch(const GemmProblem& problem, const void* parts, std::int64_t part_count, void* c,
              const void* c_at, const void* alpha, const void* beta, CUstream_st* stream) const;

 private:
  DType dtype_;
  GpuModule module_;
  GpuFunction function_;
};

// Queues both launches of C = alpha (sum of `count` products) + beta C on operands.stream: `kernel` forms the
// parts in `scratch`, which holds gemm_small_parts_bytes(), and `total` adds them up. For a pointer batch
// operands.c is an array of one address, or operands.lists.c is C. `count` must be at least 1.
void gemm_small_reduce(const GemmSmallKernel& kernel, const GemmSmallTotal& total, const GemmProblem& problem,
                       const Operands& operands, std::int64_t count, void* scratch);
// Computes C = beta C for the same operands.
void gemm_small_reduce_nothing(const GemmSmallTotal& total, const GemmProblem& problem,
                               const Operands& operands);

StencilRequest gemm_small_total_request(DType dtype, int compute_capability);

}  // namespace tilewright
