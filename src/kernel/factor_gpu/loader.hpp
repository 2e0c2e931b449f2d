// Small factorizations and solves of batches on a GPU: the arrangement of matrices in device memory as the
// kernel sees it, and the loaded kernel. Nothing here validates.
#pragma once

#include "device/gpu/gpu.hpp"
#include "kernel/factor_gpu/cost.hpp"
#include "kernel/factor_gpu/shape.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

// A batch of matrices in device memory; distances count elements. Neighbours in a column lie `row_step`
// apart, in a row `col_step`.
struct FactorGpuBatch {
  void* data = nullptr;
  void* const* pointers = nullptr;  // in device memory
  std::int64_t rows = 0, cols = 0, row_step = 1, col_step = 1;
  std::int64_t stride = 0;                   // of matrices
  std::int64_t block = 0, block_stride = 0;  // of an interleaved batch

  bool by_rows() const;  // the elements of a row are nearer to each other than those of a column
};

// The same for kernels.
template <class T>
FactorGpuOperand<T> factor_gpu_operand(const FactorGpuBatch& x) {
  FactorGpuOperand<T> same{};
  same.data = static_cast<T*>(x.data), same.pointers = reinterpret_cast<T* const*>(x.pointers);
  same.stride = x.stride;
  same.line = x.by_rows() ? x.row_step : x.col_step, same.element = x.by_rows() ? x.col_step : x.row_step;
  same.block = x.block, same.block_stride = x.block_stride;
  return same;
}
FactorGpuPlace factor_gpu_place(const FactorGpuBatch& batch);

// Operands of one launch.
struct FactorGpuCall {
  FactorGpuBatch a, b;
  std::int64_t count = 0;
  const void* alpha = nullptr;  // on the host
  void* det = nullptr;
  int* pivots = nullptr;
  int* info = nullptr;
  bool one_info = false;  // for all problems
};

// Returns the shape with the places and pieces that the operands allow.
FactorGpuShape factor_gpu_shape_of(const LaneShape& problem, const FactorGpuCall& call, bool scales);

// What the cost model may assume of a device.
FactorGpuRoom factor_gpu_room(const GpuLimits& limits);

class FactorGpuKernel {
 public:
  FactorGpuKernel(const Gpu& gpu, const JitBinary& binary, const FactorGpuShape& shape,
                  const FactorGpuConfig& config, DType dtype);

  // Queues a batch of the kernel's shape with at least one problem. Thread-safe.
  void launch(const FactorGpuCall& call, CUstream_st* stream) const;

  const GpuFunction& function() const { return function_; }
  const FactorGpuConfig& config() const { return config_; }
  int shared_bytes() const { return shared_bytes_; }
  int blocks_per_multiprocessor() const { return blocks_per_multiprocessor_; }

 private:
  const Gpu* gpu_;
  FactorGpuConfig config_;
  DType dtype_;
  int shared_bytes_;
  GpuModule module_;
  GpuFunction function_;
  int blocks_per_multiprocessor_;
};

StencilRequest factor_gpu_request(const FactorGpuShape& shape, const FactorGpuConfig& config, DType dtype,
                                  int compute_capability);

}  // namespace tilewright
