// SQLite's own file system for Unix, whose files are opened before the first lock or read and closed with the
// last lock. Journals are opened and deleted within a transaction and stay as they are.
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "core/host/fork_gate.hpp"
#include "wisdom/sqlite.hpp"

namespace tilewright::sqlite {
namespace {

// SQLite's files for Unix, even if the program has another default.
sqlite3_vfs* default_vfs() {
  sqlite3_vfs* const files = sqlite3_vfs_find("unix");
  if (files == nullptr) throw std::bad_alloc();
  return files;
}

// SQLite's own file follows in the memory that SQLite allocates, which is aligned to eight bytes.
struct ShyFile {
  sqlite3_file base;
  sqlite3_vfs* files;
  const char* name;
  int flags;
  int sector_bytes, traits;
  bool is_open;

  sqlite3_file* inner() { return reinterpret_cast<sqlite3_file*>(this + 1); }

  int open(int* opened_flags) {
    if (is_open) return SQLITE_OK;
    int known = flags;
    const int code = files->xOpen(files, name, inner(), flags, &known);
    if (opened_flags != nullptr) *opened_flags = known;
    if (code != SQLITE_OK) {
      if (inner()->pMethods != nullptr) inner()->pMethods->xClose(inner());
      return code;
    }
    is_open = true;
    flags &= ~SQLITE_OPEN_CREATE;  // when it is opened again
    if ((known & SQLITE_OPEN_READONLY) != 0) flags = (flags & ~SQLITE_OPEN_READWRITE) | SQLITE_OPEN_READONLY;
    return SQLITE_OK;
  }
  int close() {
    if (!is_open) return SQLITE_OK;
    is_open = false;
    return inner()->pMethods->xClose(inner());
  }
};

static_assert(alignof(ShyFile) <= 8 && sizeof(ShyFile) % 8 == 0);

ShyFile& shy(sqlite3_file* file) { return *reinterpret_cast<ShyFile*>(file); }

// A function of SQLite's own file that opens it first.
using Io = sqlite3_io_methods;
template <class... Args>
using IoFunction = int (*Io::*)(sqlite3_file*, Args...);
template <auto function>
struct Opening;
template <class... Args, IoFunction<Args...> function>
struct Opening<function> {
  static int call(sqlite3_file* file, Args... args) {
    ShyFile& own = shy(file);
    if (const int code = own.open(nullptr); code != SQLITE_OK) return code;
    return (own.inner()->pMethods->*function)(own.inner(), args...);
  }
};
template <auto function>
constexpr auto opening = &Opening<function>::call;

int close(sqlite3_file* file) { return shy(file).close(); }
int unlock(sqlite3_file* file, int level) {
  if (!shy(file).is_open) return SQLITE_OK;
  const int code = opening<&Io::xUnlock>(file, level);
  if (level != SQLITE_LOCK_NONE) return code;
  const int closing = shy(file).close();
  return code != SQLITE_OK ? code : closing;
}
int control(sqlite3_file* file, int operation, void* argument) {
  ShyFile& own = shy(file);
  return own.is_open ? own.inner()->pMethods->xFileControl(own.inner(), operation, argument)
                     : SQLITE_NOTFOUND;
}
int sector_bytes(sqlite3_file* file) { return shy(file).sector_bytes; }
int traits(sqlite3_file* file) { return shy(file).traits; }

// Version 1 of the interface has no shared memory, which write-ahead logs need, and no mapping.
constexpr Io shy_methods = [] {
  Io m{};
  m.iVersion = 1;
  m.xClose = close;
  m.xRead = opening<&Io::xRead>;
  m.xWrite = opening<&Io::xWrite>;
  m.xTruncate = opening<&Io::xTruncate>;
  m.xSync = opening<&Io::xSync>;
  m.xFileSize = opening<&Io::xFileSize>;
  m.xLock = opening<&Io::xLock>;
  m.xUnlock = unlock;
  m.xCheckReservedLock = opening<&Io::xCheckReservedLock>;
  m.xFileControl = control;
  m.xSectorSize = sector_bytes;
  m.xDeviceCharacteristics = traits;
  return m;
}();

int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* opened_flags) {
  sqlite3_vfs* const vfs = default_vfs();
  file->pMethods = nullptr;
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return vfs->xOpen(vfs, name, file, flags, opened_flags);
  ShyFile& own = *new (file) ShyFile{{&shy_methods}, vfs, name, flags, 0, 0, false};
  own.inner()->pMethods = nullptr;
  if (const int code = own.open(opened_flags); code != SQLITE_OK) {
    file->pMethods = nullptr;
    return code;
  }
  own.sector_bytes = own.inner()->pMethods->xSectorSize(own.inner());
  own.traits = own.inner()->pMethods->xDeviceCharacteristics(own.inner());
  return SQLITE_OK;
}

// Each copy of this code in a process has a name of its own.
struct ShyFiles {
  sqlite3_vfs files;
  std::string name;

  ShyFiles() : files(*default_vfs()), name(fmt::format("tilewright-{}", fmt::ptr(this))) {
    files.pNext = nullptr;
    files.zName = name.c_str();
    files.szOsFile += int(sizeof(ShyFile));
    files.xOpen = open;
    if (sqlite3_vfs_register(&files, 0) != SQLITE_OK) throw std::bad_alloc();
  }
};

std::atomic<ShyFiles*> known = nullptr;

// SQLite may outlive this code, which a program can unload.
[[gnu::destructor]] void forget_shy_files() {
  if (ShyFiles* const made = known; made != nullptr) sqlite3_vfs_unregister(&made->files);
}

}  // namespace

const char* shy_files() {
  static constinit Once<ShyFiles> once;
  ShyFiles& made = once.get([] { return ShyFiles(); });
  known = &made;
  return made.name.c_str();
}

std::string first_bytes(const std::string& path, int count) {
  const fork_gate::Section section;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  sqlite3_vfs* const files = default_vfs();
  const std::unique_ptr<const char, void (*)(const char*)> name(
      sqlite3_create_filename(path.c_str(), "", "", 0, nullptr),
      [](const char* text) { sqlite3_free_filename(const_cast<char*>(text)); });
  if (name == nullptr) throw std::bad_alloc();
  std::vector<std::max_align_t> memory(std::size_t(files->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* const file = reinterpret_cast<sqlite3_file*>(memory.data());
  if (files->xOpen(files, name.get(), file, SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK)
    return "";
  std::string bytes(std::size_t(std::min<off_t>(count, status.st_size)), '\0');
  if (file->pMethods->xRead(file, bytes.data(), int(bytes.size()), 0) != SQLITE_OK) bytes.clear();
  file->pMethods->xClose(file);
  return bytes;
}

bool is_database(const std::string& path) {
  constexpr std::string_view header("SQLite format 3", 16);  // its end included
  return first_bytes(path, int(header.size())) == header;
}

}  // namespace tilewright::sqlite
