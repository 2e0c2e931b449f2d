// What lies in a folder. std::filesystem's iterators end the process where there is no memory for a name.
#pragma once

#include <string>
#include <vector>

namespace tilewright {

// The paths of what lies in it, in the order of their names; none where it cannot be read.
std::vector<std::string> entries_of(const std::string& folder);

}  // namespace tilewright
