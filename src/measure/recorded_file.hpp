// Reads the text of recorded files: sweeps, runs of benches, lists of a profiler, as they lie in results/,
// plain or compressed by gzip. Callers interpret the text. Logs that a run is still writing are not read
// here.
#pragma once

#include <sstream>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

// Returns the text of the file at `path`. Throws Error with `code` naming `argument` if it cannot be read.
std::istringstream read_recorded(const std::string& path, const std::string& argument, ErrorCode code);

}  // namespace tilewright
