// How shares of a split are cut into tiles so that they fit the GPUs' memory and take the least time by the
// models. Which GPU has which columns (or rows) is settled before.
#pragma once

#include "gemm/hybrid/split/shares.hpp"

namespace tilewright {

// Bytes that may be used of a GPU's memory.
std::int64_t gpu_memory(const NodeModel& node, const SplitRequest& request, int gpu);

// Fills in tiles, slices, panels and stages of all shares; false where a GPU holds not even one tile.
bool cut_into_tiles(const NodeModel& node, const SplitRequest& request, Split& split);

// Cuts `share` as `other` is cut, whose columns (or rows) were more.
void take_tiles_of(const GpuShare& other, GpuShare& share);

}  // namespace tilewright
