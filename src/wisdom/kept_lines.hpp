// Files of kept measurements: JSON lines, each an object that stands for itself. Reading passes over lines
// that cannot be read, because measuring again repairs such a file; what a line means is up to its owner.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/json.hpp"

namespace tilewright {

// The objects in the order of the file; none when it does not exist.
std::vector<nlohmann::json> read_kept_lines(const std::string& path);

// Drops the lines that `outdated` says yes to and those that are no objects, and adds `added` at the end. A
// new file is renamed over the old one, so that readers see either; writers wait for each other. Makes the
// folder when needed. "" keeps nothing. Throws Error(io) naming the path.
void replace_kept_lines(const std::string& path, const std::function<bool(const nlohmann::json&)>& outdated,
                        const std::vector<nlohmann::json>& added);

}  // namespace tilewright
