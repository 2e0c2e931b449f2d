// Who could have written a file that shall run in this process: its owner, whoever may write it, and whoever
// may rename it, which is a matter of every folder above. Access control lists beyond the mode are not looked
// at.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

// "" where nobody but root, this user and the `trusted` ones could have put there what the path leads to;
// else what is wrong, naming the file, folder or link. Whoever is told "" may open the path: as nobody else
// can change a folder or link on the way, it still leads there. So of what does not exist the folders above
// are looked at, and it is wrong where others could make it now, unless the caller is about to.
enum class IfMissing : std::uint8_t { opened, made };
std::string why_not_trusted(const std::filesystem::path& path, const std::vector<uid_t>& trusted = {},
                            IfMissing if_missing = IfMissing::opened);

// Makes a folder and those above it so that nobody else may write there, whatever the umask. 0 or an error
// number.
int make_own_folders(const std::filesystem::path& folder);

}  // namespace tilewright
