// Names, links and the rename.
#include "core/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/host/host_state.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;     // as many as the system itself follows
constexpr int most_names = 10000;  // that others have taken

// 0 or an error number.
int write_whole(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote =
        uninterrupted([&] { return ::write(file, text.data() + done, text.size() - done); });
    if (wrote < 0) return errno;
    done += static_cast<std::size_t>(wrote);
  }
  return 0;
}

// 0 or an error number. Where a signal interrupts it, the file is closed all the same.
int close_whole(int file) { return ::close(file) == 0 || errno == EINTR ? 0 : errno; }

}  // namespace

std::string followed_path(const std::string& path) {
  fs::path at = path;
  std::error_code error;
  for (int i = 0; i < most_links; ++i) {
    const fs::path target = fs::read_symlink(at, error);
    if (error) break;  // no link, or none that can be read
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return at.string();
}

int make_beside(const std::string& path, const std::function<int(const std::string& name)>& make,
                std::string& name) {
  const fs::path folder = fs::path(path).parent_path();
  for (int number = 0; number < most_names; ++number) {
    name = (folder / fmt::format(".tilewright.{}.{}.partial", ::getpid(), number)).string();
    if (const int error = make(name); error != EEXIST) return error;
  }
  return EEXIST;
}

void keep_mode(int file, const std::string& path) {
  constexpr mode_t rights = 07777;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) (void)::fchmod(file, status.st_mode & rights);
}

bool is_wrong_path(int error) {
  return error == ENOENT || error == ENOTDIR || error == EISDIR || error == ELOOP;
}

int write_file(const std::string& path, const std::string& text) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return replace_file(path, text);
  const int file = uninterrupted([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC); });
  if (file < 0) return errno;
  const int error = write_whole(file, text), closing = close_whole(file);
  return error != 0 ? error : closing;
}

int replace_file(const std::string& path, const std::string& text) {
  const std::string target = followed_path(path);
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return EINVAL;  // a device, a folder
  if (std::error_code none; fs::is_symlink(target, none)) return ELOOP;
  int file = -1;
  std::string name;
  const auto open = [&](const std::string& wanted) {
    file =
        uninterrupted([&] { return ::open(wanted.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
    return file < 0 ? errno : 0;
  };
  if (const int error = make_beside(target, open, name); error != 0) return error;
  int error = write_whole(file, text);
  if (error == 0) keep_mode(file, target);
  if (const int closing = close_whole(file); error == 0) error = closing;
  if (error == 0 && ::rename(name.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(name.c_str());
  return error;
}

}  // namespace tilewright
