// The cost model of a register block of the columns kernels. No generated code depends on it.
#pragma once

#include "kernel/gemm_small_cpu/columns_tile.hpp"

namespace tilewright::columns {

// The cycles of a problem in L1, by the config's k_sets, k_unroll, tail and c_load and the tile's cut.
double block_cycles(const GemmProblem& problem, const Tile& tile, const GemmSmallCpuConfig& config);

}  // namespace tilewright::columns
