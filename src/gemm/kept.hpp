// What a plan's words take from measurements that were kept of the machine: bounds by its ceilings
// (`tilewright info --measure`) and the costs of converting layouts (`tilewright bench layout`, `tilewright
// tune --family layout`). Nothing is measured here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/bound.hpp"
#include "kernel/layout/layout.hpp"
#include "wisdom/kept.hpp"

namespace tilewright {

struct KeptBound {
  Bound bound;
  std::string time;  // when the ceilings were measured
};

// Of operands in device memory by those of the GPU of this name, in whole sectors of its memory; of others by
// those of this CPU with so many threads. Empty where none are kept.
std::optional<KeptBound> kept_bound(const GemmProblem& problem, const std::string& gpu, int threads);

// The costs that are kept of this device in the file, as wisdom/kept.hpp keeps models.
std::vector<LayoutCosts> load_layout_costs(const std::string& path, const std::string& device);
void save_layout_costs(const std::string& path, const std::string& device, const LayoutCosts& costs);

}  // namespace tilewright
