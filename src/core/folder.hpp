// Lists folders by readdir: std::filesystem's iterators end the process if there is no memory for a name.
#pragma once

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// Returns the paths of the folder's entries, sorted by name; empty if the folder cannot be read.
inline std::vector<std::string> entries_of(const std::string& folder) {
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
