// Of which configs of large GEMM the compiler spills registers, as far as its reports tell. What it says of a
// config that was compiled is the loader's.
#pragma once

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

// Whether the compiler was seen to spill registers of such a config: sums set aside that it reads ahead, and
// tensor products whose sums and fragments nearly fill what a thread may have - c128 where four warps share a
// tile's copies, where more than the least is held of k, and where rows of both operands run fastest unless
// stages are refilled so late that two turns are kept; f64 where two blocks leave 128 registers, and where
// threads copy deep tiles and read ahead.
bool gemm_large_known_to_spill(const GemmLargeConfig& config, const GemmLargeShape& shape, DType dtype,
                               const GpuLimits& limits);

}  // namespace tilewright
