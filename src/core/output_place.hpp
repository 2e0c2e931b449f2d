// Resolves where an output goes before it is written: a name in an open folder, or an open descriptor such as
// /dev/fd/3. Links are followed by the kernel's rules for folders that everybody may write to, however this
// kernel is configured. Nothing is written here; new_file.hpp does that.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

// An open file, closed on destruction.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }
  int release() noexcept;

 private:
  int number_;
};

// The name of an output in messages. A wrong path is an invalid argument, or a failed job if the path comes
// from elsewhere.
struct OutputName {
  std::string argument, path;
  ErrorCode wrong_path = ErrorCode::invalid_argument;

  std::string text() const;  // output = 'C.npy'
  [[noreturn]] void fail(const std::string& doing, int error) const;
  [[noreturn]] void refuse(const std::string& why) const;
};

struct OutputPlace {
  Descriptor folder;                  // open, so that renaming a folder above it changes nothing
  std::string name;                   // in that folder
  std::string path;                   // of the file itself, for messages and for readers
  bool is_link = false;               // true if the caller named a link to it
  std::optional<struct stat> status;  // of the existing entry, if any
  Descriptor stream;                  // open for writing if a descriptor was named
  int number = -1;                    // of that descriptor
};

// True if both belong to one file.
bool is_same(const struct stat& x, const struct stat& y);

// Applies the rules of the kernel's protected_symlinks, protected_regular and protected_fifos: in a sticky
// folder that everybody can write to, only entries of this user or of the folder's owner are followed and
// written. Throws Error(io).
void refuse_foreign(const OutputName& name, const OutputPlace& place, const struct stat& entry);

// Throws Error naming the output if the path cannot be written.
OutputPlace find_output_place(const OutputName& name);

}  // namespace tilewright
