// Reading and atomically replacing.
#include "wisdom/kept_lines.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tilewright/types.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::io, "path", fmt::format("path = '{}': {}", path, what));
}

// Of the folder, since the file itself is replaced. Where a file system has no locks, the last writer wins.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) : file_(::open(folder.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ >= 0) (void)::flock(file_, LOCK_EX);
  }
  ~FolderLock() {
    if (file_ >= 0) ::close(file_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_;
};

}  // namespace

std::vector<nlohmann::json> read_kept_lines(const std::string& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);)
    if (auto line = nlohmann::json::parse(text, nullptr, false); line.is_object())
      lines.push_back(std::move(line));
  return lines;
}

void replace_kept_lines(const std::string& path, const std::function<bool(const nlohmann::json&)>& outdated,
                        const std::vector<nlohmann::json>& added) {
  std::error_code error;
  const fs::path folder = fs::absolute(path).parent_path();
  fs::create_directories(folder, error);
  if (error) fail(path, "the folder cannot be made: " + error.message());
  const FolderLock lock(folder);
  auto lines = read_kept_lines(path);
  std::erase_if(lines, outdated);
  lines.insert(lines.end(), added.begin(), added.end());
  const std::string temporary = fmt::format("{}.{}", path, getpid());
  {
    std::ofstream file(temporary, std::ios::trunc);
    for (const auto& line : lines) file << line.dump() << '\n';
    if (!file.flush()) fail(temporary, "cannot be written");
  }
  fs::rename(temporary, path, error);
  if (error) {
    fs::remove(temporary);
    fail(path, "cannot be replaced: " + error.message());
  }
}

}  // namespace tilewright
