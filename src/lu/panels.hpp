// How many columns a panel of the blocked algorithm has: narrow ones leave the CPU less work that runs at the
// rate of thin products, wide ones leave GPUs fewer and deeper updates, whose transfers pay (Bernabe 2014,
// section 5, where the block size is one of what is selected).
#pragma once

#include <cstdint>
#include <functional>

#include "lu/candidates.hpp"
#include "lu/updates.hpp"

namespace tilewright {

// options.nb; else, where GPUs share updates, the panels that the models say are fastest; else a usual
// number. Never more than min(m, n).
std::int64_t panel_columns(const LuRequest& request);

// Seconds of xGETRF of m x n on the host, as its recursion by halves of columns: products and triangular
// solves of each depth.
double panel_seconds(const GemmTime& host, double m, double n);

// Seconds of the blocked algorithm with panels of nb columns, from panels, solves and updates at a few places
// of the matrix. `update` tells those of m x n x k.
using UpdateSeconds = std::function<UpdateTime(std::int64_t m, std::int64_t n, std::int64_t k)>;
double blocked_seconds(const HostModel& host, const LuProblem& problem, std::int64_t nb,
                       const UpdateSeconds& update);

}  // namespace tilewright
