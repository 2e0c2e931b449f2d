// Resolves where an output goes; creates and names new files, with fallbacks per file system.
#include "core/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "core/host/host_state.hpp"
#include "core/input/failure.hpp"

namespace tilewright {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  if (number_ >= 0) ::close(number_);
  number_ = other.release();
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

int Descriptor::release() noexcept { return std::exchange(number_, -1); }

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

namespace {

namespace fs = std::filesystem;

bool is_same(const struct stat& x, const struct stat& y) {
  return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

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

// Takes the descriptor itself instead of opening its file anew, which would overwrite others' output.
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

// Links of /proc are not paths: the file that they show may be another one by now, or a process's pipe.
bool is_of_proc(int folder) {
  struct statfs system {};
  return ::fstatfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

[[noreturn]] void fail_at(const OutputName& name, const OutputPlace& place, int error) {
  name.fail(place.is_link ? fmt::format("is a link to '{}', which cannot be created", place.path)
                          : "cannot be created",
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

// Applies the rules of the kernel's protected_symlinks, protected_regular and protected_fifos, however this
// kernel is configured: in a sticky folder that everybody can write to, only entries of this user or of the
// folder's owner are followed and written. Throws Error(io).
void refuse_foreign(const OutputName& name, const OutputPlace& place, const struct stat& entry) {
  struct stat folder {};
  if (entry.st_uid == ::geteuid() || ::fstat(place.folder.get(), &folder) != 0) return;
  constexpr mode_t everybodys = S_ISVTX | S_IWOTH;
  if (entry.st_uid == folder.st_uid || (folder.st_mode & everybodys) != everybodys) return;
  throw Error(
      ErrorCode::io, name.argument,
      fmt::format("{} is refused: '{}' belongs to user {} and is in a folder that everybody can write to",
                  name.text(), place.path, entry.st_uid));
}

}  // namespace

// Follows a path link by link and holds the folder of each link open.
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
      name.refuse("is a link in /proc: name the file itself, or /dev/fd/N for a descriptor of this process");
    const fs::path target = target_of(place.folder.get(), place.name);
    if (target.empty()) fail_at(name, place, errno);
    at = target.is_absolute() ? target : at.parent_path() / target;
    place.is_link = true;
  }
  fail_at(name, place, ELOOP);
}

namespace {

constexpr int most_names = 10000;  // how many names taken by others are skipped
constexpr mode_t rights = 0777, new_rights = 0666, own_rights = 0600, set_id = 06000;
constexpr std::size_t copied_at_once = std::size_t{1} << 20;

// Returns 0 or an error number.
int write_whole(int file, const char* bytes, std::size_t count) {
  const HeldSignal limit(SIGXFSZ);
  for (std::size_t done = 0; done < count;) {
    const ssize_t wrote = uninterrupted([&] { return ::write(file, bytes + done, count - done); });
    if (wrote < 0) return errno;
    done += static_cast<std::size_t>(wrote);
  }
  return 0;
}

// Data that is not on the disk when the file is renamed can be lost together with the old file. Pipes and
// some file systems do not support fsync; that is not an error.
int flush_to_disk(int file) {
  if (uninterrupted([&] { return ::fsync(file); }) == 0 || errno == EINVAL || errno == EROFS ||
      errno == ENOSYS || errno == EOPNOTSUPP)
    return 0;
  return errno;
}

}  // namespace

int copy_whole(int from, int to) {
  std::vector<char> piece(copied_at_once);
  for (off_t at = 0;;) {
    const ssize_t got = uninterrupted([&] { return ::pread(from, piece.data(), piece.size(), at); });
    if (got < 0) return errno;
    if (got == 0) return 0;
    if (const int error = write_whole(to, piece.data(), static_cast<std::size_t>(got)); error != 0)
      return error;
    at += got;
  }
}

OutputFile::OutputFile(OutputName name) : name_(std::move(name)), place_(find_output_place(name_)) {
  if (!exists() || place_.stream) return;
  if (S_ISBLK(place_.status->st_mode) || S_ISSOCK(place_.status->st_mode))
    name_.refuse("exists and is not a file");
  const bool is_own = place_.status->st_uid == ::geteuid() || ::geteuid() == 0;
  if ((!is_own || must_stay(*place_.status)) && !is_writable())
    name_.fail(fmt::format("belongs to user {}, has {} names and cannot be written", place_.status->st_uid,
                           place_.status->st_nlink),
               errno);
}

// A file with several names or with an access list must not be replaced, only written into.
bool OutputFile::must_stay(const struct stat& status) const {
  return status.st_nlink > 1 || ::getxattr(place_.path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

bool OutputFile::is_writable() const {
  return exists() && ::faccessat(place_.folder.get(), place_.name.c_str(), W_OK, AT_EACCESS) == 0;
}

OutputFile::~OutputFile() {
  if (!hidden_.empty()) ::unlinkat(place_.folder.get(), hidden_.c_str(), 0);
}

bool OutputFile::is_stream() const noexcept {
  return place_.stream || (exists() && !S_ISREG(place_.status->st_mode));
}

bool OutputFile::is_device() const noexcept {
  return exists() && !S_ISREG(place_.status->st_mode) && !S_ISFIFO(place_.status->st_mode) &&
         !S_ISSOCK(place_.status->st_mode);
}

bool OutputFile::is_stdout() const {
  if (!place_.stream) return false;
  struct stat status {};
  return place_.number == STDOUT_FILENO ||
         (::fstat(STDOUT_FILENO, &status) == 0 && is_same(status, *place_.status));
}

// give_name() later links it through /proc, so /proc must be there.
bool OutputFile::make_nameless() {
  file_ = Descriptor(
      ::openat(place_.folder.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, exists() ? own_rights : new_rights));
  if (file_ && ::access(fmt::format("/proc/self/fd/{}", file_.get()).c_str(), F_OK) != 0)
    file_ = Descriptor();
  return bool(file_);
}

// The hidden name's length does not depend on that of the output.
void OutputFile::make_hidden() {
  for (int number = 0; number < most_names; ++number) {
    hidden_ = fmt::format(".tilewright.{}.{}.partial", ::getpid(), number);
    file_ = Descriptor(uninterrupted([&] {
      return ::openat(place_.folder.get(), hidden_.c_str(),
                      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, exists() ? own_rights : new_rights);
    }));
    if (file_ || errno != EEXIST) break;
  }
  if (!file_) hidden_.clear();
}

void OutputFile::make_scratch() {
  is_scratch_ = true;
  std::error_code none;
  const fs::path folder = fs::temp_directory_path(none);
  if (!none)
    file_ = Descriptor(
        uninterrupted([&] { return ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, own_rights); }));
  if (!file_) file_ = Descriptor(::memfd_create("tilewright", MFD_CLOEXEC));
  if (!file_) name_.fail("cannot be written: no folder for a temporary file", errno);
}

int OutputFile::make() {
  if (is_stream()) {
    make_scratch();
    return file_.get();
  }
  if (!make_nameless()) make_hidden();
  if (file_) return file_.get();
  const int error = errno;
  // The folder accepts no new file, but the old one may be written into.
  if (!is_writable()) fail_at(name_, place_, error);
  make_scratch();
  return file_.get();
}

// Gives the new file the old one's owner, group and rights; false if that fails or if that must stay.
bool OutputFile::give_rights() {
  struct stat now {
  }, fresh{};
  if (::fstatat(place_.folder.get(), place_.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT && (!exists() || ::fchmod(file_.get(), place_.status->st_mode & rights) == 0);
  if (!S_ISREG(now.st_mode)) name_.refuse("is not a file any more");
  refuse_foreign(name_, place_, now);
  if (must_stay(now) || ::fstat(file_.get(), &fresh) != 0) return false;
  if ((now.st_uid != fresh.st_uid || now.st_gid != fresh.st_gid) &&
      ::fchown(file_.get(), now.st_uid, now.st_gid) != 0)
    return false;
  return ::fchmod(file_.get(), now.st_mode & rights) == 0;
}

// A nameless file can be linked only under a new name; then it is renamed.
bool OutputFile::give_name() {
  if (!hidden_.empty()) return true;
  const std::string self = fmt::format("/proc/self/fd/{}", file_.get());
  for (int number = 0; number < most_names; ++number) {
    const std::string hidden = fmt::format(".tilewright.{}.{}.partial", ::getpid(), number);
    if (::linkat(AT_FDCWD, self.c_str(), place_.folder.get(), hidden.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      hidden_ = hidden;
      return true;
    }
    if (errno != EEXIST) break;
  }
  // /proc has disappeared meanwhile: copy into a file that has a name from the start.
  Descriptor nameless = std::move(file_);
  make_hidden();
  const int error = file_ ? copy_whole(nameless.get(), file_.get()) : errno;
  if (error == 0) return give_rights();
  if (!hidden_.empty()) ::unlinkat(place_.folder.get(), hidden_.c_str(), 0);
  hidden_.clear();
  file_ = std::move(nameless);
  errno = error;
  return false;
}

// Returns false if the old file must keep its place; errno says why.
bool OutputFile::replace() {
  if (is_scratch_ || !give_rights() || !give_name()) return false;
  if (const int error = flush_to_disk(file_.get()); error != 0) name_.fail("cannot be written", error);
  if (::renameat(place_.folder.get(), hidden_.c_str(), place_.folder.get(), place_.name.c_str()) != 0)
    return false;
  hidden_.clear();
  return true;
}

// Space is allocated first, so that a full disk leaves the old contents intact.
void OutputFile::write_into() {
  const HeldSignal limit(SIGXFSZ);
  struct stat fresh {
  }, there{};
  const Descriptor target(
      ::openat(place_.folder.get(), place_.name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!target) name_.fail("cannot be written", errno);
  if (::fstat(target.get(), &there) != 0 || ::fstat(file_.get(), &fresh) != 0 || !S_ISREG(there.st_mode))
    name_.refuse("is not a file any more");
  if (fresh.st_size > there.st_size &&
      uninterrupted([&] { return ::fallocate(target.get(), 0, 0, fresh.st_size); }) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS) {
    const int error = errno;
    (void)!::ftruncate(target.get(), there.st_size);
    name_.fail("cannot be written", error);
  }
  int error = copy_whole(file_.get(), target.get());
  if (error == 0 && uninterrupted([&] { return ::ftruncate(target.get(), fresh.st_size); }) != 0)
    error = errno;
  if (error == 0 && (there.st_mode & set_id) != 0) (void)!::fchmod(target.get(), there.st_mode & rights);
  if (error == 0) error = flush_to_disk(target.get());
  if (error != 0) name_.fail("cannot be written", error);
}

void OutputFile::commit() {
  if (is_stream()) {
    if (const int error = copy_whole(file_.get(), open_itself(O_WRONLY)); error != 0)
      name_.fail("cannot be written", error);
    return;
  }
  if (replace()) return;
  const int error = errno;
  if (is_writable()) return write_into();
  if (is_scratch_ || !give_name()) name_.fail("cannot be renamed", error);
  const std::string kept = std::exchange(hidden_, "");
  name_.fail(fmt::format("cannot be renamed; the new contents are beside it in '{}'", kept), error);
}

void OutputFile::write(const std::string& text) {
  const int file = is_stream() ? open_itself(O_WRONLY) : make();
  if (const int error = write_whole(file, text); error != 0) name_.fail("cannot be written", error);
  if (!is_stream()) commit();
}

int OutputFile::open_itself(int flags) {
  if (place_.stream) return place_.stream.get();
  const char* const name = place_.name.c_str();
  const int wanted = flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
  itself_ = Descriptor(uninterrupted(
      [&] { return ::openat(place_.folder.get(), name, wanted | O_CREAT | O_EXCL, new_rights); }));
  was_made_ = was_made_ || itself_;
  if (!itself_ && errno == EEXIST)
    itself_ = Descriptor(uninterrupted([&] { return ::openat(place_.folder.get(), name, wanted); }));
  if (!itself_) name_.fail("cannot be opened", errno);
  struct stat status {};
  if (::fstat(itself_.get(), &status) != 0) name_.fail("cannot be opened", errno);
  if (S_ISREG(status.st_mode) && (status.st_mode & set_id) != 0)
    (void)!::fchmod(itself_.get(), status.st_mode & rights);
  place_.status = status;
  return itself_.get();
}

bool OutputFile::is_in_place() const {
  struct stat held {
  }, named{};
  return itself_ && ::fstat(itself_.get(), &held) == 0 &&
         ::fstatat(place_.folder.get(), place_.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         is_same(held, named);
}

void OutputFile::remove_if_made() {
  if (was_made_ && is_in_place()) ::unlinkat(place_.folder.get(), place_.name.c_str(), 0);
}

int write_whole(int file, const std::string& text) { return write_whole(file, text.data(), text.size()); }

bool is_same_file(const std::string& x, const std::string& y) {
  if (x.empty() || y.empty()) return false;
  std::error_code none;
  return fs::equivalent(x, y, none) || fs::weakly_canonical(x, none) == fs::weakly_canonical(y, none);
}

bool lock_file(int file, std::chrono::milliseconds wait) {
  constexpr auto step = std::chrono::milliseconds(1);
  const auto end = std::chrono::steady_clock::now() + wait;
  for (;;) {
    if (uninterrupted([&] { return ::flock(file, LOCK_EX | LOCK_NB); }) == 0 || errno != EWOULDBLOCK)
      return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(step);
  }
}

}  // namespace tilewright
