// The gate of batched small GEMM on the GPU: no candidate is timed before it has passed. Kernels are held
// against plain loops on the host: partial tiles, more turns than stages, guard bytes on both sides of C, and
// NaN in a C that beta = 0 must not read.
#pragma once

#include <string>

#include "kernel/gpu_gemm_small.hpp"

namespace tilewright {

struct GpuCheckResult {
  double error = 0;   // largest element error over its bound; above 1 is wrong
  std::string fault;  // "" = none
};

class GpuCheck {
 public:
  GpuCheck(const Gpu& gpu, const GemmProblem& problem);
  // The kernel must be one for the problem's shape.
  GpuCheckResult check(const GemmSmallKernel& kernel);

 private:
  template <class T>
  GpuCheckResult check_typed(const GemmSmallKernel& kernel);

  const Gpu& gpu_;
  GemmProblem problem_;
};

}  // namespace tilewright
