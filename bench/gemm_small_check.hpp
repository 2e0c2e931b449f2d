// Checks kernels of batched small GEMM on the GPU, every element of a batch that has partial tiles and more
// turns than stages (measure/check_small.hpp).
#pragma once

#include "kernel/gemm_small/loader.hpp"
#include "measure/check_small.hpp"

namespace tilewright::bench {

// The alignment of the buffers that operands lie in, less the case's shift.
int alignment_of(const SmallCase& one);

// The kernel must be one for the case's shape.
CheckResult check_small(const Gpu& gpu, const SmallCase& one, const GemmSmallKernel& kernel);

}  // namespace tilewright::bench
