// Walks along a path as the system does, through every link, and checks each step before the next.
#include "core/trust.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/env.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

// Many systems give each user a group of the same number and make files writable for it.
bool is_own_group(const struct stat& status) {
  return status.st_gid == getegid() && status.st_gid == geteuid();
}

std::string fault_of(const fs::path& at, const struct stat& status, bool is_last,
                     const std::vector<uid_t>& trusted) {
  const uid_t owner = status.st_uid;
  if (owner != 0 && owner != geteuid() && std::find(trusted.begin(), trusted.end(), owner) == trusted.end())
    return fmt::format("'{}' belongs to user {}", at.string(), owner);
  if (S_ISLNK(status.st_mode)) return "";  // the mode of a link means nothing
  // In a sticky folder such as /tmp nobody can rename other users' files.
  const bool keeps_names = !is_last && S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  const bool group = (status.st_mode & S_IWGRP) != 0 && status.st_gid != 0 && !is_own_group(status);
  const bool others = (status.st_mode & S_IWOTH) != 0;
  if (keeps_names || (!group && !others)) return "";
  return fmt::format("'{}' can be written by {} (mode {:o})", at.string(), others ? "everybody" : "its group",
                     status.st_mode & 07777);
}

// The state of a walk: the resolved path so far, always without links, and the names still to come.
class Walk {
 public:
  Walk(const fs::path& path, const std::vector<uid_t>& trusted, IfMissing if_missing)
      : trusted_(trusted), if_missing_(if_missing) {
    add(path);
  }

  // Returns "" or the first fault.
  std::string fault() {
    std::string fault = enter("/");
    while (fault.empty() && !left_.empty()) {
      const fs::path part = std::move(left_.back());
      left_.pop_back();
      if (part == "..")
        at_ = at_.parent_path();
      else if (part != "." && !part.empty() && part != "/")
        fault = enter(at_ / part);
    }
    return fault;
  }

 private:
  void add(const fs::path& path) {
    if (path.is_absolute()) at_ = "/";
    const std::vector<fs::path> parts(path.begin(), path.end());
    left_.insert(left_.end(), parts.rbegin(), parts.rend());
  }

  std::string enter(const fs::path& next) {
    struct stat status {};
    if (::lstat(next.c_str(), &status) != 0) {
      left_.clear();
      // Others can create a missing entry even in a sticky folder.
      struct stat above {};
      if (::lstat(at_.c_str(), &above) != 0) return "";
      return fault_of(at_, above, if_missing_ == IfMissing::opened, trusted_);
    }
    if (std::string fault = fault_of(next, status, left_.empty(), trusted_); !fault.empty()) return fault;
    if (!S_ISLNK(status.st_mode)) {
      at_ = next;
      return "";
    }
    constexpr int most_links = 40;  // the system's own limit
    std::error_code error;
    const fs::path target = fs::read_symlink(next, error);
    if (error || ++links_ > most_links) return fmt::format("'{}' is a broken link", next.string());
    add(target);
    return "";
  }

  const std::vector<uid_t>& trusted_;
  IfMissing if_missing_;
  fs::path at_ = "/";
  std::vector<fs::path> left_;  // names still to come, the next one last
  int links_ = 0;
};

}  // namespace

std::string why_not_trusted(const fs::path& path, const std::vector<uid_t>& trusted, IfMissing if_missing) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  if (error) return fmt::format("'{}' cannot be found: {}", path.string(), error.message());
  return Walk(whole, trusted, if_missing).fault();
}

std::string share_distrust(const std::string& folder) {
  struct stat own {};
  std::vector<uid_t> trusted;  // owners of the code that asks
  if (::stat(own_file().c_str(), &own) == 0) trusted.push_back(own.st_uid);
  return why_not_trusted(folder, trusted);
}

int make_own_folders(const fs::path& folder) {
  constexpr mode_t not_for_others = 0755;
  if (folder.empty() || ::mkdir(folder.c_str(), not_for_others) == 0) return 0;
  int error = errno;
  if (error == ENOENT && folder.has_parent_path() && folder.parent_path() != folder) {
    if (error = make_own_folders(folder.parent_path()); error != 0) return error;
    error = ::mkdir(folder.c_str(), not_for_others) == 0 ? 0 : errno;
  }
  std::error_code none;
  return error != 0 && fs::is_directory(folder, none) ? 0 : error;
}

}  // namespace tilewright
