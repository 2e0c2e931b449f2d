// Measures the ceilings of this machine: multiply-add loops per type and vector width, streaming loops over
// memory and over the L2 cache. wisdom/ceilings stores them.
#pragma once

#include "core/ceilings.hpp"
#include "measure/buffers.hpp"

namespace tilewright {

// Measures all fields, device and time included. Takes a few seconds and 1 GiB; with `arena`, a caller that
// measures more keeps its pages.
Ceilings measure_ceilings(int threads, Arena& arena);

// Returns the current time as ISO 8601 in UTC.
std::string time_now();

}  // namespace tilewright
