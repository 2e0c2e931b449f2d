// Reading and atomically replacing.
#include "wisdom/kept_lines.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/host/host_state.hpp"
#include "core/input/failure.hpp"
#include "core/input/json_text.hpp"
#include "core/new_file.hpp"
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
  explicit FolderLock(const fs::path& folder)
      : file_(uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_CLOEXEC); })) {
    if (file_ >= 0) (void)uninterrupted([&] { return ::flock(file_, LOCK_EX); });
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
  for (std::string text; next_line(file, text);)
    if (auto line = parse_json_or_discard(text); line.is_object()) lines.push_back(std::move(line));
  return lines;
}

void replace_kept_lines(const std::string& path, const std::function<bool(const nlohmann::json&)>& outdated,
                        const std::vector<nlohmann::json>& added) {
  if (path.empty()) return;
  std::error_code error;
  const fs::path folder = fs::absolute(followed_path(path)).parent_path();
  fs::create_directories(folder, error);
  if (error) fail(path, "the folder cannot be made: " + error.message());
  const FolderLock lock(folder);
  auto lines = read_kept_lines(path);
  std::erase_if(lines, outdated);
  lines.insert(lines.end(), added.begin(), added.end());
  std::string text;
  for (const auto& line : lines) text += json_line(line) + '\n';
  if (const int failure = replace_file(path, text); failure != 0)
    fail(path, "cannot be replaced: " + system_error_text(failure));
}

}  // namespace tilewright
