// The bound of a problem by the ceilings that were measured of the machine that it runs on and kept
// (`tilewright info --measure`). It measures nothing.
#pragma once

#include <optional>
#include <string>

#include "core/bound.hpp"

namespace tilewright {

struct KeptBound {
  Bound bound;
  std::string time;  // when the ceilings were measured
};

// Of operands in device memory by those of the GPU of this name, in whole sectors of its memory; of others by
// those of this CPU with so many threads. Empty where none are kept.
std::optional<KeptBound> kept_bound(const GemmProblem& problem, const std::string& gpu, int threads);

}  // namespace tilewright
