// Implemented with readdir(3).
#include "core/folder.hpp"

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace tilewright {

std::vector<std::string> entries_of(const std::string& folder) {
  struct Close {
    void operator()(DIR* directory) const { closedir(directory); }
  };
  std::vector<std::string> entries;
  const std::unique_ptr<DIR, Close> directory(opendir(folder.c_str()));
  if (directory == nullptr) return entries;
  const std::string before = folder.ends_with('/') ? folder : folder + "/";
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back(before + entry->d_name);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace tilewright
