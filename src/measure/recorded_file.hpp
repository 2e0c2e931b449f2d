// Reads the text of recorded files, such as those in results/, plain or compressed by gzip.
#pragma once

#include <sstream>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

// Returns the text of the file at `path`. Throws Error with `code` naming `argument` if it cannot be read.
std::istringstream read_recorded(const std::string& path, const std::string& argument, ErrorCode code);

}  // namespace tilewright
