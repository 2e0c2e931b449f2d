// Looks beside the library or program that this code is part of.
#include "core/share.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "core/trust.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

// The folder of the shared library or program that this code is part of; empty when the system does not tell.
fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&share_folder), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code error;
  fs::path file = fs::canonical(info.dli_fname, error);
  if (error) file = fs::canonical("/proc/self/exe", error);
  return error ? fs::path() : file.parent_path();
}

}  // namespace

std::string share_distrust(const std::string& folder) {
  struct stat own {};
  Dl_info info{};
  std::vector<uid_t> trusted;  // who could write the code that asks
  if (dladdr(reinterpret_cast<const void*>(&share_folder), &info) != 0 && info.dli_fname != nullptr &&
      (::stat(info.dli_fname, &own) == 0 || ::stat("/proc/self/exe", &own) == 0))
    trusted.push_back(own.st_uid);
  return why_not_trusted(folder, trusted);
}

std::string share_folder(const Environment& environment, const std::string& part) {
  if (!environment.share.empty()) return environment.share;
  std::error_code error;
  const fs::path own = own_folder();
  // Beside bin/ or lib/, or one level further up for lib/<multiarch triplet>/.
  for (const char* up : {"..", "../.."}) {
    const fs::path folder = own / up / "share" / "tilewright";
    if (!own.empty() && fs::is_directory(folder / part, error)) return folder.lexically_normal().string();
  }
  return {};
}

}  // namespace tilewright
