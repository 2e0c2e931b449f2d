// Determines who could have written a file that shall run in this process: its owner, and whoever may write
// or rename it or a folder above it. Access control lists beyond the mode are not checked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

// Returns "" if nobody but root, this user and the `trusted` users could have put the file at this path, or
// can change where it leads; otherwise the reason, naming the file, folder or link. For a missing file the
// folders above are checked: others must not be able to create it, unless the caller is about to.
enum class IfMissing : std::uint8_t { opened, made };
std::string why_not_trusted(const std::filesystem::path& path, const std::vector<uid_t>& trusted = {},
                            IfMissing if_missing = IfMissing::opened);

// The same for the folder of sources compiled into this process; the owner of this code is trusted too.
std::string share_distrust(const std::string& folder);

// Makes a folder and its parents, writable by nobody else, whatever the umask. Returns 0 or errno.
int make_own_folders(const std::filesystem::path& folder);

}  // namespace tilewright
