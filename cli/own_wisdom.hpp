// The user's own wisdom as the verbs that write it see it: which file that is, opened for writing.
#pragma once

#include <memory>
#include <string>

#include "wisdom/store.hpp"

namespace tilewright::cli {

// The database of that name, or with "" TILEWRIGHT_WISDOM or the one in the user's data folder. Throws
// Error(invalid_argument) naming the flag where the file holds JSON lines, which are only read.
std::unique_ptr<WisdomStore> open_own_wisdom(const std::string& flag, const std::string& asked);

}  // namespace tilewright::cli
