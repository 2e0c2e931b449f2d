// What the checks of large GEMM's kernels share besides the family itself.
#pragma once

#include "kernel/gemm_large/loader.hpp"

namespace tilewright {

// A problem with partial tiles of `config` in all directions, a last k range that is not full, gaps behind
// its columns and the alignment of `shape`.
GemmProblem gemm_large_edges(const GemmProblem& like, const GemmLargeShape& shape,
                             const GemmLargeConfig& config);

}  // namespace tilewright
