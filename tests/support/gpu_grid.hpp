// Selects the rows of a grid of problems that a test on a GPU runs, by TILEWRIGHT_GPU_GRID: each row may need
// a kernel of its own, and a full product would compile for an hour.
#pragma once

#include <string>
#include <vector>

namespace tilewright::testing {

// Returns rows of level indices, one per factor. Unset: the rows of three covering designs, in which each
// pair of levels meets at least three times. "some": those of one design, for runs under compute-sanitizer.
// "all": the full product; "0/3": every third row of it, from number 0 on. Throws Error(invalid_argument) for
// another text.
std::vector<std::vector<int>> gpu_grid_rows(const std::vector<int>& level_counts);
// True if TILEWRIGHT_GPU_GRID is "all", for tests whose grid is not a list of rows.
bool is_full_gpu_grid();

}  // namespace tilewright::testing
