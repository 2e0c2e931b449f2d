// Creates and names new files, with fallbacks for file systems that do not support a step.
#include "core/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "core/host/host_state.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

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

namespace {

// Data that is not on the disk when the file is renamed can be lost together with the old file. Pipes and
// some file systems do not support fsync; that is not an error.
int flush_to_disk(int file) {
  if (uninterrupted([&] { return ::fsync(file); }) == 0 || errno == EINVAL || errno == EROFS ||
      errno == ENOSYS || errno == EOPNOTSUPP)
    return 0;
  return errno;
}

}  // namespace

OutputFile::OutputFile(OutputName name) : name_(std::move(name)), place_(find_output_place(name_)) {
  if (!exists() || place_.stream) return;
  if (S_ISBLK(place_.status->st_mode) || S_ISSOCK(place_.status->st_mode))
    name_.refuse("exists and is not a file");
  const bool is_ours = place_.status->st_uid == ::geteuid() || ::geteuid() == 0;
  if ((!is_ours || must_stay(*place_.status)) && !is_writable())
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
  if (!file_) name_.fail("cannot be written: no place for what is not finished", errno);
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
  if (!is_writable())
    name_.fail(place_.is_link ? fmt::format("leads to '{}', which cannot be created", place_.path)
                              : "cannot be created",
               error);
  make_scratch();
  return file_.get();
}

// Gives the new file the owner, group and rights of the file that it replaces; false if that fails or if the
// old file must stay.
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
    const int error = copy_whole(file_.get(), open_itself(O_WRONLY));
    if (error != 0) name_.fail("cannot be written", error);
    return;
  }
  if (replace()) return;
  const int error = errno;
  if (is_writable()) return write_into();
  if (is_scratch_ || !give_name()) name_.fail("cannot be named", error);
  const std::string kept = std::exchange(hidden_, "");
  name_.fail(fmt::format("cannot be named, and lies beside it as '{}'", kept), error);
}

void OutputFile::write(const std::string& text) {
  if (is_stream()) {
    if (const int error = write_whole(open_itself(O_WRONLY), text); error != 0)
      name_.fail("cannot be written", error);
    return;
  }
  if (const int error = write_whole(make(), text); error != 0) name_.fail("cannot be written", error);
  commit();
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
