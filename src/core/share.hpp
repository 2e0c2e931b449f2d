// Finds the files that are shipped with the library: wisdom and the sources of kernels. Their readers judge
// the contents.
#pragma once

#include <string>

#include "core/env.hpp"

namespace tilewright {

// Returns the folder that holds the shipped `part`/ (wisdom, kernel); empty if none is installed.
std::string share_folder(const Environment& environment, const std::string& part);

// Returns why sources in that folder must not be compiled into this process: a user other than root, this
// user and the owner of this code could have written them. "" if they can be trusted.
std::string share_distrust(const std::string& folder);

}  // namespace tilewright
