// The loaded kernel of C = beta C on the GPU, for batches of any size. It validates nothing.
#pragma once

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

// The variants of the kernel's code.
struct GpuScaleKind {
  DType dtype = DType::f64;
  bool zero = false;    // beta = 0: C is written and not read
  bool packed = false;  // the batch is one run of elements

  friend bool operator==(const GpuScaleKind&, const GpuScaleKind&) = default;
};
GpuScaleKind gpu_scale_kind(const GemmProblem& problem, bool zero);

class GpuScale {
 public:
  GpuScale(const Gpu& gpu, const JitBinary& binary, const GpuScaleKind& kind);

  // `beta` is the host address of a value of the kernel's type. The batch must not be empty.
  void launch(const GemmProblem& problem, void* c, const void* beta, CUstream_st* stream) const;

 private:
  const Gpu* gpu_;
  GpuScaleKind kind_;
  GpuModule module_;
  GpuFunction function_;
  unsigned most_blocks_ = 1;
};

StencilRequest gpu_scale_request(const GpuScaleKind& kind, int compute_capability);

}  // namespace tilewright
