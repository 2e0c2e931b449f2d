// The bound of a job of the CPU by the ceilings that `tilewright info --measure` recorded on this machine.
#pragma once

#include <optional>

#include "core/ceilings.hpp"
#include "core/json.hpp"
#include "tilewright/types.hpp"

namespace tilewright::cli {

// Nothing without ceilings for this number of threads, or for a job without work. `moved` counts the bytes
// that are read and written at least.
std::optional<Bound> cpu_bound(DType dtype, double flops, double moved, int threads);

// Adds the keys of a bound, if there is one.
void add_cpu_bound(nlohmann::json& row, const std::optional<Bound>& bound, double seconds);

}  // namespace tilewright::cli
