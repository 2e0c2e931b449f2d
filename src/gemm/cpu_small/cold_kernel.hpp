// The kernel for a problem that has none of its own: the portable one, whose code serves all shapes of a
// type, bound in some 50 ns without memory, code or a lock.
#pragma once

#include "kernel/gemm_small_cpu/portable.hpp"

namespace tilewright {

// Serves strided, pointer or single problems with sizes >= 1; strides and counts are arguments.
class ColdKernel final : public GemmSmallCpuKernel {
 public:
  explicit ColdKernel(const GemmProblem& problem);

 private:
  PortableColumns plan_;
};

}  // namespace tilewright
