// Measures the ceilings of this machine: multiply-add loops per type and vector width, streaming loops over
// memory and over the L2 cache. Keeping them is the business of wisdom/kept.
#pragma once

#include "core/ceilings.hpp"
#include "core/date.hpp"
#include "measure/buffers.hpp"

namespace tilewright {

// Fills everything, device and time included. Takes a few seconds and 1 GiB; `arena` lets a caller that
// measures more keep its pages.
Ceilings measure_ceilings(int threads, Arena& arena);

}  // namespace tilewright
