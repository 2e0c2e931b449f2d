// Follows a path link by link and holds the folder of each link open.
#include "core/output_place.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/input/failure.hpp"

namespace tilewright {

bool is_same(const struct stat& x, const struct stat& y) {
  return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as many as the system itself follows
constexpr int most_descriptor = 1 << 20;

int number_of(const std::string& text) {
  const bool is_number = !text.empty() && text.size() < 8 &&
                         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const int number = is_number ? std::atoi(text.c_str()) : -1;
  return number < most_descriptor ? number : -1;
}

// Recognises names that scripts use even on systems without /proc or without these links in /dev.
int descriptor_by_name(const fs::path& path) {
  if (std::find(path.begin(), path.end(), "..") != path.end()) return -1;
  const std::string text = path.lexically_normal().string();
  constexpr std::array standard = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  for (std::size_t i = 0; i < standard.size(); ++i)
    if (text == standard[i]) return int(i);
  for (const std::string& folder :
       {std::string("/dev/fd/"), std::string("/proc/self/fd/"), fmt::format("/proc/{}/fd/", ::getpid())})
    if (text.starts_with(folder)) return number_of(text.substr(folder.size()));
  return -1;
}

// Returns the number if `name` is an entry of this process's folder of descriptors, however it was reached.
int descriptor_in(int folder, const std::string& name) {
  struct stat own {
  }, there{};
  const bool is_own =
      ::stat("/proc/self/fd", &own) == 0 && ::fstat(folder, &there) == 0 && is_same(own, there);
  return is_own ? number_of(name) : -1;
}

// Takes the descriptor itself instead of opening its file anew, which would overwrite what others have
// written.
void take_descriptor(const OutputName& name, int number, OutputPlace& place) {
  const int flags = ::fcntl(number, F_GETFL);
  if (flags < 0) name.fail(fmt::format("is descriptor {}, which cannot be written to", number), errno);
  if ((flags & O_ACCMODE) == O_RDONLY)
    name.refuse(fmt::format("is descriptor {}, which is closed or open for reading only", number));
  place.stream = Descriptor(::fcntl(number, F_DUPFD_CLOEXEC, 0));
  place.number = number;
  struct stat status {};
  if (!place.stream || ::fstat(place.stream.get(), &status) != 0) name.fail("cannot be written", errno);
  place.status = status;
  place.path = name.path;
}

std::string target_of(int folder, const std::string& link) {
  std::array<char, 4097> text{};
  const ssize_t length = ::readlinkat(folder, link.c_str(), text.data(), text.size() - 1);
  return length < 0 ? "" : std::string(text.data(), std::size_t(length));
}

// Links of /proc are not paths: the file that they show may by now be another file, or another process's
// pipe.
bool is_of_proc(int folder) {
  struct statfs system {};
  return ::fstatfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

[[noreturn]] void fail_at(const OutputName& name, const OutputPlace& place, int error) {
  name.fail(
      place.is_link ? fmt::format("leads to '{}', which cannot be created", place.path) : "cannot be created",
      error);
}

// Opens the folder of the path and keeps the last name; whether a file exists there is not checked.
void enter_folder(const OutputName& name, const fs::path& at, OutputPlace& place) {
  place.path = at.string();
  place.name = at.filename().string();
  const fs::path folder = at.has_parent_path() ? at.parent_path() : fs::path(".");
  place.folder = Descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place.folder) fail_at(name, place, errno);
  if (place.name.empty() || place.name == "." || place.name == "..") fail_at(name, place, EISDIR);
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  if (number_ >= 0) ::close(number_);
  number_ = other.release();
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

int Descriptor::release() noexcept {
  const int number = number_;
  number_ = -1;
  return number;
}

std::string OutputName::text() const { return fmt::format("{} = '{}'", argument, path); }

void OutputName::fail(const std::string& doing, int error) const {
  const bool is_wrong = error == ENOENT || error == ENOTDIR || error == EISDIR || error == ELOOP ||
                        error == ENAMETOOLONG || error == EBADF;
  throw Error(is_wrong ? wrong_path : ErrorCode::io, argument,
              fmt::format("{} {}: {}", text(), doing, system_error_text(error)));
}

void OutputName::refuse(const std::string& why) const {
  throw Error(ErrorCode::invalid_argument, argument, fmt::format("{} {}", text(), why));
}

void refuse_foreign(const OutputName& name, const OutputPlace& place, const struct stat& entry) {
  struct stat folder {};
  if (entry.st_uid == ::geteuid() || ::fstat(place.folder.get(), &folder) != 0) return;
  constexpr mode_t everybodys = S_ISVTX | S_IWOTH;
  if (entry.st_uid == folder.st_uid || (folder.st_mode & everybodys) != everybodys) return;
  throw Error(ErrorCode::io, name.argument,
              fmt::format("{} is refused: '{}' belongs to user {} and lies in a folder that everybody can "
                          "write to",
                          name.text(), place.path, entry.st_uid));
}

OutputPlace find_output_place(const OutputName& name) {
  OutputPlace place;
  fs::path at = name.path;
  for (int links = 0; links < most_links; ++links) {
    int number = descriptor_by_name(at);
    if (number < 0) {
      enter_folder(name, at, place);
      number = descriptor_in(place.folder.get(), place.name);
    }
    if (number >= 0) {
      take_descriptor(name, number, place);
      return place;
    }
    struct stat status {};
    if (::fstatat(place.folder.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return place;
      fail_at(name, place, errno);
    }
    refuse_foreign(name, place, status);
    if (!S_ISLNK(status.st_mode)) {
      if (S_ISDIR(status.st_mode)) fail_at(name, place, EISDIR);
      place.status = status;
      return place;
    }
    if (is_of_proc(place.folder.get()))
      name.refuse("belongs to a process: name the file itself, or /dev/fd/N for an own descriptor");
    const fs::path target = target_of(place.folder.get(), place.name);
    if (target.empty()) fail_at(name, place, errno);
    at = target.is_absolute() ? target : at.parent_path() / target;
    place.is_link = true;
  }
  fail_at(name, place, ELOOP);
}

}  // namespace tilewright
