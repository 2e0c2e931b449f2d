// Searches beside the library or program that this code is part of.
#include "core/share.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "core/trust.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

// Returns the shared library or program that this code is part of; empty if the system does not say. A
// program reports the name it was started with, which may be a word that the shell searched in PATH rather
// than a file of the current folder.
fs::path own_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&share_folder), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code error;
  fs::path file;
  if (std::strchr(info.dli_fname, '/') != nullptr) file = fs::canonical(info.dli_fname, error);
  if (error || file.empty()) file = fs::canonical("/proc/self/exe", error);
  return error ? fs::path() : file;
}

}  // namespace

std::string share_distrust(const std::string& folder) {
  struct stat own {};
  std::vector<uid_t> trusted;  // owners of the code that asks
  if (::stat(own_file().c_str(), &own) == 0) trusted.push_back(own.st_uid);
  return why_not_trusted(folder, trusted);
}

std::string share_folder(const Environment& environment, const std::string& part) {
  if (!environment.share.empty()) return environment.share;
  std::error_code error;
  const fs::path own = own_file().parent_path();
  // Searches beside bin/ or lib/, and one level further up for lib/<multiarch triplet>/.
  for (const char* up : {"..", "../.."}) {
    const fs::path folder = own / up / "share" / "tilewright";
    if (!own.empty() && fs::is_directory(folder / part, error)) return folder.lexically_normal().string();
  }
  return {};
}

}  // namespace tilewright
