// Determines who could have written a file that shall run in this process: its owner, anybody who may write
// it, and anybody who may rename it or a folder above it. Access control lists beyond the mode are not
// checked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

// Returns "" if nobody but root, this user and the `trusted` users could have put the file at this path;
// otherwise the reason, naming the file, folder or link. After "" the path may be opened: nobody else can
// change a folder or link on the path, so it still leads to the same file. For a missing file the folders
// above are checked, and a folder where others could create it is a fault, unless the caller is about to
// create it.
enum class IfMissing : std::uint8_t { opened, made };
std::string why_not_trusted(const std::filesystem::path& path, const std::vector<uid_t>& trusted = {},
                            IfMissing if_missing = IfMissing::opened);

// Makes a folder and those above it so that nobody else may write there, whatever the umask. Returns 0 or an
// error number.
int make_own_folders(const std::filesystem::path& folder);

}  // namespace tilewright
