// Where the files lie that are shipped with the library: wisdom and the sources of kernels. What is in them
// is the reader's business.
#pragma once

#include <string>

#include "core/env.hpp"

namespace tilewright {

// The folder that holds `part`/ (wisdom, kernel) of what is shipped; empty where none is installed.
std::string share_folder(const Environment& environment, const std::string& part);

}  // namespace tilewright
