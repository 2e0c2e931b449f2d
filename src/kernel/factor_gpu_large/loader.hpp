// Factorizations and solves of matrices of any order on a GPU: the loaded kernels. Nothing here validates.
#pragma once

#include <variant>

#include "kernel/factor_gpu/loader.hpp"
#include "kernel/factor_gpu_large/shape.hpp"

namespace tilewright {

// Operands of a factorization or of a solve with `nrhs` right sides. The matrices have the sizes of `a`.
struct FactorLargeCall {
  FactorGpuBatch a, factors, b;
  std::int64_t count = 0, nrhs = 0;
  const void* alpha = nullptr;  // on the host
  void* det = nullptr;
  int* pivots = nullptr;
  int* info = nullptr;
  int* codes = nullptr;   // the infos of all problems, which a solve obeys
  bool one_info = false;  // for all problems
};

FactorLargeRoom factor_large_room(const GpuLimits& limits);

// The config of a factorization or of a solve, which says what a kernel computes.
using FactorLargeAnyConfig = std::variant<FactorLargeConfig, FactorLargeSolveConfig>;

class FactorLargeKernel {
 public:
  FactorLargeKernel(const Gpu& gpu, const JitBinary& binary, const FactorGpuShape& shape,
                    const FactorLargeAnyConfig& config, DType dtype);

  // Queues a batch with at least one problem. Thread-safe.
  void launch(const FactorLargeCall& call, CUstream_st* stream) const;

  const GpuFunction& function() const { return function_; }

 private:
  GpuLaunch geometry(const FactorLargeCall& call) const;

  FactorGpuShape shape_;
  FactorLargeAnyConfig config_;
  DType dtype_;
  GpuModule module_;
  GpuFunction function_;
};

StencilRequest factor_large_request(const FactorGpuShape& shape, const FactorLargeAnyConfig& config,
                                    DType dtype, int compute_capability);

}  // namespace tilewright
