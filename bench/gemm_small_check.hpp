// Checks kernels of batched small GEMM on the GPU against plain loops on the host: partial tiles, more turns
// than stages, guard bytes on both sides of C, NaN that must not be read, and bad problems of pointer
// batches, which get their codes and harm no other.
#pragma once

#include "gemm_small_data.hpp"
#include "kernel/gemm_small/loader.hpp"

namespace tilewright::bench {

// The alignment of the buffers that operands lie in, less the case's shift.
int alignment_of(const SmallCase& one);

// The kernel must be one for the case's shape.
CheckResult check_small(const Gpu& gpu, const SmallCase& one, const GemmSmallKernel& kernel);

}  // namespace tilewright::bench
