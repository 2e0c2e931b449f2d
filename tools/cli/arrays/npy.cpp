// Opens, checks and creates mapped .npy files. npy_header.cpp reads and writes the text of the header.
#include "arrays/npy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/host/host_state.hpp"
#include "core/input/failure.hpp"
#include "people/refusal.hpp"

// Older C libraries lack the names; older kernels return EINVAL, and populate() then touches the pages
// itself.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace tilewright::cli {

namespace {

constexpr std::int64_t page_bytes = 4096;
constexpr std::int64_t populate_step_bytes = std::int64_t{4} << 20;

[[noreturn]] void fail(ErrorCode code, const std::string& argument, const std::string& what,
                       const char* doing, int error_number) {
  throw Error(code, argument, fmt::format("{} {}: {}", what, doing, system_error_text(error_number)));
}

// Holds every header that NumPy writes for an array without fields.
constexpr std::size_t header_read_bytes = 65536 + 16;

std::string read_front(int file, const std::string& argument, const std::string& what) {
  std::string front(header_read_bytes, '\0');
  std::size_t filled = 0;
  while (filled < front.size()) {
    const ssize_t got = uninterrupted([&] {
      return ::pread(file, front.data() + filled, front.size() - filled, static_cast<off_t>(filled));
    });
    if (got < 0) fail(ErrorCode::invalid_argument, argument, what, "cannot be read", errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  front.resize(filled);
  return front;
}

void touch_pages(std::byte* begin, std::int64_t bytes, bool write) {
  for (std::int64_t at = 0; at < bytes; at += page_bytes) {
    volatile std::byte* page = begin + at;
    const std::byte value = *page;
    if (write) *page = value;
  }
}

// Returns 0 or an error number.
int bring_in(std::byte* begin, std::int64_t bytes, bool write) {
  const int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  if (::madvise(begin, static_cast<std::size_t>(bytes), advice) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  touch_pages(begin, bytes, write);
  return 0;
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  NpyHeader header;
  header.shape = shape;
  return header.count();
}

}  // namespace

Mapping::Mapping(int file, std::int64_t bytes, bool writable, const std::string& what)
    : bytes_(bytes), writable_(writable), what_(what) {
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* address = ::mmap(nullptr, static_cast<std::size_t>(bytes), protection, MAP_SHARED, file, 0);
  if (address == MAP_FAILED) fail(ErrorCode::io, "", what, "cannot be mapped into memory", errno);
  data_ = static_cast<std::byte*>(address);
}

Mapping::Mapping(Mapping&& other) noexcept { *this = std::move(other); }

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(writable_, other.writable_);
  std::swap(what_, other.what_);
  return *this;
}

Mapping::~Mapping() {
  if (data_) ::munmap(data_, static_cast<std::size_t>(bytes_));
}

void Mapping::populate(int threads, const Watch& watch) const {
  const std::int64_t step_count = (bytes_ + populate_step_bytes - 1) / populate_step_bytes;
  std::atomic<int> failure{0};
  std::atomic<std::int64_t> done{0};
  // Each thread must be worth waking.
  threads = static_cast<int>(std::clamp<std::int64_t>(step_count, 1, threads));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t step = 0; step < step_count; ++step) {
    if (failure != 0) continue;
    const std::int64_t begin = step * populate_step_bytes;
    if (const int error = bring_in(data_ + begin, std::min(populate_step_bytes, bytes_ - begin), writable_);
        error != 0)
      failure = error;
    const std::int64_t now = ++done;
    if (watch && omp_get_thread_num() == 0) watch(double(now) / double(step_count));
  }
  if (failure != 0) fail(ErrorCode::io, "", what_, "cannot be brought into memory", failure);
}

NpyInput::NpyInput(const std::string& path, const std::string& argument)
    : what_(fmt::format("{} = '{}'", argument, path)) {
  const Descriptor file(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!file) fail(ErrorCode::invalid_argument, argument, what_, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    fail(ErrorCode::invalid_argument, argument, what_, "cannot be examined", errno);
  if (!S_ISREG(status.st_mode))
    wrong_use(argument, "{} is {}, not a file", what_,
              S_ISDIR(status.st_mode) ? "a folder" : "a device or pipe");
  header_ = parse_npy_header(read_front(file.get(), argument, what_), argument, what_);
  const std::int64_t expected = header_.count() * size_bytes(header_.dtype);
  const std::int64_t found = static_cast<std::int64_t>(status.st_size) - header_.data_offset;
  if (found < expected)
    wrong_use(argument, "{} is truncated: shape {} needs {} bytes of data, but the file contains {}", what_,
              shape_text(header_.shape), expected, std::max<std::int64_t>(found, 0));
  mapping_ = Mapping(file.get(), header_.data_offset + expected, false, what_);
  if (header_.data_offset % size_bytes(header_.dtype) != 0)
    moved_.assign(mapping_.data() + header_.data_offset, mapping_.data() + mapping_.bytes());
}

NpyOutput::NpyOutput(const std::string& path, DType dtype, bool fortran_order,
                     const std::vector<std::int64_t>& shape, const std::string& argument)
    : NpyOutput(argument, path, npy_header_bytes(dtype, fortran_order, shape),
                elements_of(shape) * size_bytes(dtype)) {}

NpyOutput::NpyOutput(const std::string& path, const std::vector<std::int64_t>& integers_shape,
                     const std::string& argument)
    : NpyOutput(argument, path, npy_integers_header_bytes(integers_shape),
                elements_of(integers_shape) * std::int64_t(sizeof(std::int64_t))) {}

NpyOutput::NpyOutput(const std::string& argument, const std::string& path, const std::string& head,
                     std::int64_t data_bytes)
    : name_{argument, path}, file_(name_) {
  if (path == "-" || file_.is_stdout()) name_.refuse("is stdout, to which no array is written: name a file");
  if (file_.is_device()) name_.refuse("exists and is not a file");
  data_offset_ = static_cast<std::int64_t>(head.size());
  const std::int64_t bytes = data_offset_ + data_bytes;
  descriptor_ = file_.make();
  reserve(bytes);
  mapping_ = Mapping(descriptor_, bytes, true, name_.text());
  std::memcpy(mapping_.data(), head.data(), head.size());
}

// Reserving first turns a full disk into an error here instead of a signal in the middle of the kernel, and
// lets the file system hand out its largest pages.
void NpyOutput::reserve(std::int64_t bytes) {
  if (uninterrupted([&] { return ::fallocate(descriptor_, 0, 0, bytes); }) == 0) return;
  if (errno != EOPNOTSUPP && errno != ENOSYS)
    name_.fail(fmt::format("cannot be given {} bytes", bytes), errno);
  if (uninterrupted([&] { return ::ftruncate(descriptor_, bytes); }) != 0)
    name_.fail("cannot be sized", errno);
}

void NpyOutput::commit() {
  mapping_ = Mapping();
  file_.commit();
}

}  // namespace tilewright::cli
