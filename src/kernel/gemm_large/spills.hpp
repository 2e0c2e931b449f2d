// Predicts for which configs of large GEMM the compiler spills registers, from earlier reports. The loader
// checks the report of a config that was compiled.
#pragma once

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

// True if the compiler was seen to spill registers of such a config: sums set aside that it prefetches, and
// tensor products whose sums and fragments nearly fill the registers of a thread - c128 if four warps share a
// tile's copies, if more than the least is held of k, and if rows of both operands run fastest unless stages
// are refilled so late that two k tiles are kept; f64 if two blocks leave 128 registers, and if threads copy
// deep tiles and prefetch.
bool gemm_large_known_to_spill(const GemmLargeConfig& config, const GemmLargeShape& shape, DType dtype,
                               const GpuLimits& limits);

}  // namespace tilewright
