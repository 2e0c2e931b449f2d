// A library that precedes the C library: malloc and its relatives, mmap, opening files and pthread_create
// fail on demand. Requests by libraries that end the process by design when they get no memory (OpenBLAS,
// OpenMP's runtime, hwloc), and by the stand-ins for a GPU's libraries, are neither counted nor refused.
#include "failing_memory.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

std::atomic<bool> armed = false, has_failed = false;
std::atomic<long> count = 0;
long first_failing = 0;
bool fails_from_then_on = false;
// True while the requester is determined, which may itself request memory. Initial-exec: reading it allocates
// nothing.
thread_local __attribute__((tls_model("initial-exec"))) bool is_asking = false;

bool names(const char* path, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (std::strstr(path, part) != nullptr) return true;
  return false;
}

// True if the request came from an excused library: the first caller that is neither this library nor the C
// or C++ library nor SQLite's allocator.
bool is_excused() {
  void* frames[24];
  const int frame_count = backtrace(frames, 24);
  for (int i = 0; i < frame_count; ++i) {
    Dl_info info{};
    if (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr) continue;
    if (names(info.dli_fname, {"failing_memory", "libc.so", "libstdc++", "libgcc_s", "ld-linux"})) continue;
    return names(info.dli_fname, {"openblas", "libblas", "liblapack", "libgomp", "libgfortran", "libhwloc",
                                  "libcuda", "fake_", "libcublas", "libcusolver"});
  }
  return false;
}

// With TILEWRIGHT_SHOW_FAILURE, prints the stack of the failed request.
void show() {
  void* frames[40];
  backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
}

// Returns the same function of the C library.
template <class F>
F behind(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

// `error` is the value of errno. `excuses` tells whether the requester matters.
bool fails(int error = ENOMEM, bool excuses = true) {
  if (!armed.load(std::memory_order_relaxed) || is_asking) return false;
  is_asking = true;
  bool failing = false;
  if (!excuses || !is_excused()) {
    const long now = ++count;
    failing = first_failing > 0 && (fails_from_then_on ? now >= first_failing : now == first_failing);
    if (failing && !has_failed.exchange(true) && std::getenv("TILEWRIGHT_SHOW_FAILURE") != nullptr) show();
  }
  is_asking = false;
  if (failing) errno = error;
  return failing;
}

}  // namespace

extern "C" {

void failing_memory_arm(long first, int from_then_on) {
  void* frames[1];
  (void)backtrace(frames, 1);  // opens libgcc the first time
  first_failing = first, fails_from_then_on = from_then_on != 0;
  count = 0, has_failed = false;
  armed = true;
}
long failing_memory_disarm() {
  armed = false;
  return count;
}
int failing_memory_refuses() { return fails(ENOMEM, false) ? 1 : 0; }
int failing_memory_has_failed() { return has_failed ? 1 : 0; }

void* malloc(std::size_t bytes) { return fails() ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t many, std::size_t bytes) { return fails() ? nullptr : __libc_calloc(many, bytes); }
void* realloc(void* old, std::size_t bytes) {
  return bytes > 0 && fails() ? nullptr : __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** to, std::size_t alignment, std::size_t bytes) {
  void* memory = memalign(alignment, bytes);
  if (memory == nullptr) return ENOMEM;
  *to = memory;
  return 0;
}

void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  if (fails()) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  return mmap(address, bytes, protection, flags, file, offset);
}

// Simulates a process without free descriptors.
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  return fails(EMFILE) ? -1 : int(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  return fails(EMFILE) ? -1 : int(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
FILE* fopen(const char* path, const char* mode) {
  return fails(EMFILE) ? nullptr : behind<FILE* (*)(const char*, const char*)>("fopen")(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return fails(EMFILE) ? nullptr : behind<FILE* (*)(const char*, const char*)>("fopen64")(path, mode);
}
DIR* opendir(const char* path) {
  return fails(EMFILE) ? nullptr : behind<DIR* (*)(const char*)>("opendir")(path);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return fails(EAGAIN) ? EAGAIN : behind<Create>("pthread_create")(thread, attributes, start, argument);
}
}
