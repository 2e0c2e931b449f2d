// Who could have written a file that shall run in this process: its owner, whoever may write it, and whoever
// may rename it, which is a matter of every folder above. Access control lists beyond the mode are not looked
// at.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

// "" where nobody but root, this user and the `trusted` ones could have put it there, or where it does not
// exist; else what is wrong, naming the file or folder.
std::string why_not_trusted(const std::filesystem::path& path, const std::vector<uid_t>& trusted = {});

}  // namespace tilewright
