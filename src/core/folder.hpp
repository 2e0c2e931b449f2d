// Lists folders. std::filesystem's iterators end the process if there is no memory for a name.
#pragma once

#include <string>
#include <vector>

namespace tilewright {

// Returns the paths of the folder's entries, sorted by name; empty if the folder cannot be read.
std::vector<std::string> entries_of(const std::string& folder);

}  // namespace tilewright
