// A model of what a register block of the columns kernels costs; gemm_small_cpu/columns_cost_space.cpp
// says how. No generated code depends on it.
#pragma once

#include "kernel/gemm_small_cpu/columns_tile.hpp"

namespace tilewright::columns {

// Cycles of one problem whose operands are in the first cache, by config's k_sets, k_unroll, tail and c_load
// and by the tile's pieces and blocks.
double block_cycles(const GemmProblem& problem, const Tile& tile, const GemmSmallCpuConfig& config);

}  // namespace tilewright::columns
