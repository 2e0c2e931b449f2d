// Looks at a path as it is written, links included, and at what it comes to.
#include "core/trust.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

// Many systems give each user a group of the same number and let it write.
bool is_own_group(const struct stat& status) {
  return status.st_gid == getegid() && status.st_gid == geteuid();
}

std::string fault_of(const fs::path& at, bool is_last, const std::vector<uid_t>& trusted) {
  struct stat status {};
  if (::lstat(at.c_str(), &status) != 0) return "";
  const uid_t owner = status.st_uid;
  if (owner != 0 && owner != geteuid() && std::find(trusted.begin(), trusted.end(), owner) == trusted.end())
    return fmt::format("'{}' belongs to user {}", at.string(), owner);
  if (S_ISLNK(status.st_mode)) return "";  // its mode means nothing
  // In a sticky folder such as /tmp nobody renames what is another's.
  const bool keeps_names = !is_last && S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  const bool group = (status.st_mode & S_IWGRP) != 0 && status.st_gid != 0 && !is_own_group(status);
  const bool others = (status.st_mode & S_IWOTH) != 0;
  if (keeps_names || (!group && !others)) return "";
  return fmt::format("'{}' can be written by {} (mode {:o})", at.string(), others ? "everybody" : "its group",
                     status.st_mode & 07777);
}

std::string fault_on(const fs::path& path, const std::vector<uid_t>& trusted) {
  fs::path at;
  for (const fs::path& part : path) {
    at /= part;
    if (std::string fault = fault_of(at, at == path, trusted); !fault.empty()) return fault;
  }
  return "";
}

}  // namespace

std::string why_not_trusted(const fs::path& path, const std::vector<uid_t>& trusted) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return "";
  const fs::path written = fs::absolute(path, error).lexically_normal();
  if (std::string fault = fault_on(real, trusted); !fault.empty() || written == real) return fault;
  return fault_on(written, trusted);
}

}  // namespace tilewright
