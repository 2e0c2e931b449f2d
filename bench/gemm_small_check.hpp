// Checks kernels of batched small GEMM on the GPU against plain loops on the host: partial tiles, more turns
// than stages, guard bytes on both sides of C, and NaN in a C that beta = 0 must not read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernel/gpu_gemm_small.hpp"

namespace tilewright::bench {

struct CheckResult {
  double error = 0;   // largest element error over its bound; above 1 is wrong
  std::string fault;  // "" = none
};

class SmallChecker {
 public:
  SmallChecker(const Gpu& gpu, const GemmProblem& problem);
  // The kernel must be one for the problem's shape.
  CheckResult check(const GemmSmallKernel& kernel);

 private:
  template <class T>
  CheckResult check_typed(const GemmSmallKernel& kernel);

  const Gpu& gpu_;
  GemmProblem problem_;
};

}  // namespace tilewright::bench
