// NumPy .npy files as mapped memory: NpyInput maps an existing array read-only, NpyOutput makes a new one
// that appears under its name only when the job is done. Supports f4, f8, c8 and c16 in little-endian order;
// the meaning of the arrays is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/new_file.hpp"
#include "tilewright/types.hpp"

namespace tilewright::cli {

struct NpyHeader {
  DType dtype = DType::f64;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;  // bytes from the start of the file

  std::int64_t count() const;  // elements
};

// Returns "(1000, 8, 8)", like NumPy.
std::string shape_text(const std::vector<std::int64_t>& shape);

// Reads the header from the first bytes of a file. `what` names argument and file in messages, e.g. "A =
// 'x.npy'".
NpyHeader parse_npy_header(std::string_view file, const std::string& argument, const std::string& what);

// Returns the bytes from the magic up to the data, padded so that the data begin on a 64-byte boundary.
std::string npy_header_bytes(DType dtype, bool fortran_order, const std::vector<std::int64_t>& shape);
// The same for 64-bit integers in C order.
std::string npy_integers_header_bytes(const std::vector<std::int64_t>& shape);

// Called on the calling thread with the share of the work that is done.
using Watch = std::function<void(double share)>;

// A file mapped into memory; unmapped on destruction.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int file, std::int64_t bytes, bool writable, const std::string& what);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* data() const noexcept { return data_; }
  std::int64_t bytes() const noexcept { return bytes_; }

  // Brings every page in, by all threads, so that no later step waits for one.
  void populate(int threads, const Watch& watch = {}) const;

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  bool writable_ = false;
  std::string what_;
};

class NpyInput {
 public:
  // Opens, checks and maps; no data page is touched yet. Throws Error(invalid_argument) naming `argument` and
  // the file.
  NpyInput(const std::string& path, const std::string& argument);

  const NpyHeader& header() const noexcept { return header_; }
  const void* data() const noexcept {
    return moved_.empty() ? mapping_.data() + header_.data_offset : moved_.data();
  }
  void populate(int threads, const Watch& watch = {}) const { mapping_.populate(threads, watch); }
  const std::string& what() const noexcept { return what_; }  // "A = 'x.npy'"

 private:
  std::string what_;
  NpyHeader header_;
  Mapping mapping_;
  std::vector<std::byte>
      moved_;  // copy of the data if the header's length leaves them unaligned; NumPy writes no such file
};

class NpyOutput {
 public:
  // Makes a file that is invisible until it is committed (core/new_file.hpp describes its place and
  // renaming), reserves its space and maps it. Refuses "-" and /dev/stdout, because reports are printed
  // there, and devices; writes the array to other descriptors and pipes. Throws Error(io), or
  // Error(invalid_argument) if `path` cannot be a file. Errors name `argument`.
  NpyOutput(const std::string& path, DType dtype, bool fortran_order, const std::vector<std::int64_t>& shape,
            const std::string& argument = "output");
  // Makes an array of 64-bit integers in C order.
  NpyOutput(const std::string& path, const std::vector<std::int64_t>& integers_shape,
            const std::string& argument = "output");
  // Without commit nothing remains and an older file of that name is untouched.

  void* data() const noexcept { return mapping_.data() + data_offset_; }
  void populate(int threads, const Watch& watch = {}) const { mapping_.populate(threads, watch); }
  void commit();

 private:
  NpyOutput(const std::string& argument, const std::string& path, const std::string& head,
            std::int64_t data_bytes);
  void reserve(std::int64_t bytes);

  OutputName name_;
  OutputFile file_;
  int descriptor_ = -1;  // the file before its commit
  std::int64_t data_offset_ = 0;
  Mapping mapping_;
};

}  // namespace tilewright::cli
