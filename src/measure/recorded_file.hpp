// Recorded files: sweeps, runs of benches, lists of a profiler, as they lie in results/, plain or compressed
// by gzip. This reads their text; what it says is its reader's business, and logs that a run still writes are
// not read here.
#pragma once

#include <sstream>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

// The text of the file at `path`. One that cannot be read is an Error with `code` that names `argument`.
std::istringstream read_recorded(const std::string& path, const std::string& argument, ErrorCode code);

}  // namespace tilewright
