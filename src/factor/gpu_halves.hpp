// Solves with large triangles in device memory by halves: two solves with the halves' triangles, and between
// them a product that subtracts what the first half of the solution makes of the second, on tensor cores
// where a type has them.
#pragma once

#include "factor/call.hpp"
#include "gemm/device/machine.hpp"

namespace tilewright {

// True if halves are faster, and products read the operands as they lie. False where failed problems must
// keep their right sides.
bool solves_by_halves(const FactorWork& work);

// Queues trsm or potrs of problems [first, first + count) of one level.
void solve_by_halves(Context& context, const GpuMachine& machine, const FactorWork& work, std::int64_t first,
                     std::int64_t count);

}  // namespace tilewright
