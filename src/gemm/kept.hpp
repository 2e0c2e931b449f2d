// Bounds and costs of plans from recorded measurements: ceilings (`tilewright info --measure`) and costs of
// converting layouts (`tilewright bench layout`, `tilewright tune --family layout`). It measures nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/ceilings.hpp"
#include "kernel/layout/layout.hpp"
#include "kernel/probe/loops.hpp"
#include "wisdom/kept.hpp"

namespace tilewright {

// The bytes in whole sectors of 32 that a batch in device memory must read and write, with its arrays of
// pointers; and the part that streams through A, B and C. Sectors shared by neighbours count once, except in
// pointer batches, whose matrices are in any order.
struct GpuTraffic {
  double bytes = 0;
  GpuStreamMix mix;
};
// `problem` is packed and of one size: single, strided, pointer, or interleaved.
GpuTraffic gpu_traffic(const GemmProblem& problem);

struct KeptBound {
  Bound bound;
  std::string time;  // of the ceilings' measurement
};

// Returns the bound by the ceilings of the GPU of this name for operands in device memory, in whole sectors;
// for others by those of this CPU with `threads` threads. Empty without ceilings.
std::optional<KeptBound> kept_bound(const GemmProblem& problem, const std::string& gpu, int threads);

// Costs of this device in the file, as wisdom/kept.hpp keeps models.
std::vector<LayoutCosts> load_layout_costs(const std::string& path, const std::string& device);
void save_layout_costs(const std::string& path, const std::string& device, const LayoutCosts& costs);

}  // namespace tilewright
