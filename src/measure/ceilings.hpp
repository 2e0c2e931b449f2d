// Measures the ceilings of this machine: multiply-add loops per type and vector width, streaming loops over
// memory and over the L2 cache. wisdom/kept keeps them.
#pragma once

#include "core/ceilings.hpp"
#include "core/date.hpp"
#include "measure/buffers.hpp"

namespace tilewright {

// Fills everything, device and time included. Takes a few seconds and 1 GiB, of `arena` if given.
Ceilings measure_ceilings(int threads, Arena& arena);

// Returns the widest vectors that the machine executes, in bits; complex types use those of their real type.
std::int64_t widest_vector_bits();

// The compute ceiling: a loop of independent fused multiply-adds on registers that touches no memory. Its
// speed is that of one core's arithmetic units at the clock they run at under that vector width. Runs at
// least `steps` dependent steps of independent chains, as many as the registers hold beside their factor, on
// the calling thread and returns the floating-point operations done, for the caller to divide by its time.
// Throws Error(invalid_argument) if vector_bits is not one of 128, 256, 512 or is wider than the machine.
double run_multiply_adds(DType dtype, std::int64_t vector_bits, std::int64_t steps);

}  // namespace tilewright
