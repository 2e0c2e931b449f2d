// What was seen of configs of large GEMM that the model of costs does not predict: on H200s with kernels of
// NVRTC 13.0 for sm_90.
#pragma once

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

// By what a config was seen to cost more than the model predicts, on H200s: f64 in the sweep of n = 4096
// (docs/gemm_large_findings.md).
double gemm_large_correction(const GemmLargeConfig& config, const GemmLargeShape& shape, DType dtype);

// Whether the compiler was seen to spill registers of such a config: sums set aside that it reads ahead, and
// tensor products whose sums and fragments nearly fill what a thread may have - c128 where four warps share a
// tile's copies, where more than the least is held of k, and where rows of both operands run fastest unless
// stages are refilled so late that two turns are kept; f64 where two blocks leave 128 registers, and where
// threads copy deep tiles and read ahead.
bool gemm_large_known_to_spill(const GemmLargeConfig& config, const GemmLargeShape& shape, DType dtype,
                               const GpuLimits& limits);

}  // namespace tilewright
