// Where an output goes, found once before it is written: a name in an open folder, or an open descriptor such
// as /dev/fd/3. Links are followed here by the rules that the kernel has for folders where everybody may put
// files, whatever this kernel is set to. Nothing is written; new_file.hpp does that.
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

// What messages call an output. Wrong paths are wrong use, or failed jobs where the path comes from
// elsewhere.
struct OutputName {
  std::string argument, path;
  ErrorCode wrong_path = ErrorCode::invalid_argument;

  std::string text() const;  // output = 'C.npy'
  [[noreturn]] void fail(const std::string& doing, int error) const;
  [[noreturn]] void refuse(const std::string& why) const;
};

struct OutputPlace {
  Descriptor folder;                  // open, so that what is renamed above it changes nothing
  std::string name;                   // in that folder
  std::string path;                   // of the file itself, for messages and for readers
  bool is_link = false;               // whether a link to it was named
  std::optional<struct stat> status;  // of what stands there
  Descriptor stream;                  // open for writing, where a descriptor was named
  int number = -1;                    // of that descriptor
};

// Whether both are of one file.
bool is_same(const struct stat& x, const struct stat& y);

// As the kernel's protected_symlinks, protected_regular and protected_fifos: in a sticky folder that
// everybody can write to, only what belongs to this user or to the folder's owner is followed and written.
// Throws Error(io).
void refuse_foreign(const OutputName& name, const OutputPlace& place, const struct stat& entry);

// Throws Error naming the output where the path leads to nothing that can be written.
OutputPlace find_output_place(const OutputName& name);

}  // namespace tilewright
