// Where the files lie that are shipped with the library: wisdom and the sources of kernels. What is in them
// is the reader's business.
#pragma once

#include <string>

#include "core/env.hpp"

namespace tilewright {

// The folder that holds `part`/ (wisdom, kernel) of what is shipped; empty where none is installed.
std::string share_folder(const Environment& environment, const std::string& part);

// Why sources in that folder must not be compiled into this process: somebody else than root, this user and
// the owner of this code could have written them. "" where nobody could.
std::string share_distrust(const std::string& folder);

}  // namespace tilewright
