// The compute ceiling: a loop of independent fused multiply-adds on registers. It touches no memory, so its
// speed is that of one core's arithmetic units at the clock they run at under that vector width.
#pragma once

#include <cstdint>

#include "tilewright/types.hpp"

namespace tilewright {

// Returns the widest vectors that the machine executes, in bits; complex types use those of their real type.
std::int64_t widest_vector_bits();

// Runs at least `steps` dependent steps of independent chains, as many as the registers hold beside their
// factor, on the calling thread and returns the floating-point operations done, to be divided by the time the
// caller measured. Throws Error(invalid_argument) if vector_bits is not one of 128, 256, 512 or is wider than
// the machine.
double run_multiply_adds(DType dtype, std::int64_t vector_bits, std::int64_t steps);

}  // namespace tilewright
