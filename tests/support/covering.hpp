// Covering designs: few rows of factor levels in which each level of a factor still meets each level of each
// other one. It replaces the full product of layouts, types, sizes and options, which would run for days.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::testing {

// Rows of level indices, one per factor, that together hold every pair of levels of any two factors. The
// result is deterministic.
std::vector<std::vector<int>> covering_rows(const std::vector<int>& level_counts, std::uint64_t seed = 1);

}  // namespace tilewright::testing
