// Measures the ceilings of a GPU by the loops that bound every case of bench there.
#pragma once

#include <cstddef>

#include "core/ceilings.hpp"
#include "gemm/device/machine.hpp"

namespace tilewright::bench {

// Streams `operand_bytes` of each of A, B and C, or less if the device's memory is small. Compiles the loops
// unless they are cached. Throws the errors of GpuMachine.
GpuCeilings measure_gpu_ceilings(const GpuMachine& machine, std::size_t operand_bytes);

}  // namespace tilewright::bench
