// Where the measured costs of converting layouts are kept between runs: one JSON line per device, size,
// layout and residency in a file of the cache folder. `tilewright bench layout` measures and saves them;
// `explain` reads them.
#pragma once

#include <string>
#include <vector>

#include "core/env.hpp"
#include "kernel/layout/layout.hpp"

namespace tilewright {

// layout_costs.jsonl beside the ceilings.
std::string layout_costs_path(const Environment& environment);

// What is known of this device; empty when nothing is. A line that cannot be read is passed over: this is a
// cache, and measuring again repairs it.
std::vector<LayoutCosts> load_layout_costs(const std::string& path, const std::string& device);

// Replaces the lines of the same device and case, by writing a new file and renaming it over the old one, so
// that readers see either. Makes the folder when needed. Throws Error(io) naming the path.
void save_layout_costs(const std::string& path, const std::string& device,
                       const std::vector<LayoutCosts>& costs);

}  // namespace tilewright
