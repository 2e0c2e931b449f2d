// Iterative refinement in device memory (LAPACK xGERFS without its forward bound): r = b - op(A) x, dx =
// inv(op(A)) r, x + dx, for each column as long as that halves its componentwise backward error. All steps
// are queued; what a column no longer needs changes nothing in it. Nothing waits on the host.
#pragma once

#include "kernel/lu_rows/refine.hpp"
#include "lu/device/system.hpp"

namespace tilewright {

struct LuRefineShape {
  DType dtype = DType::f64;
  Op op = Op::none;
  std::int64_t n = 0, nrhs = 0, lda = 0, ldlu = 0, ldb = 0, ldx = 0;
  int steps = 0;
};

struct LuRefineOperands {
  const void *a = nullptr, *lu = nullptr;
  const long long* pivots = nullptr;
  const void* b = nullptr;
  void* x = nullptr;
  double* errors = nullptr;   // nrhs
  void* workspace = nullptr;  // workspace_bytes(), at a multiple of 256
};

class DeviceLuRefinement {
 public:
  // Compiles what is not kept. Throws as DeviceLuSystem does.
  DeviceLuRefinement(std::shared_ptr<LuTools> tools, const LuRefineShape& shape);

  const LuRefineShape& shape() const { return shape_; }
  std::int64_t workspace_bytes() const { return bytes_; }
  // By several threads in turn.
  void refine(const LuRefineOperands& operands, CUstream_st* stream);

 private:
  void residuals(const LuRefineOperands& o, CUstream_st* stream) const;
  // C += factor op(A) B, of the elements' type or of the real one of their parts.
  void multiply_add(DType dtype, double factor, const LuBlock& a, const LuBlock& b, const LuBlock& c) const;

  std::shared_ptr<LuTools> tools_;
  LuRefineShape shape_;
  DeviceLuSystem system_;
  const GpuLuRefine& kernels_;
  std::int64_t magnitudes_at_ = 0, x_at_ = 0, bound_at_ = 0, residual_at_ = 0, progress_at_ = 0, blas_at_ = 0,
               system_at_ = 0, bytes_ = 0;
};

}  // namespace tilewright
