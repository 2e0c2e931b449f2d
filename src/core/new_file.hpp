// The one writer of files: outputs, exports, reports, records and caches. A file appears under its name only
// when it is whole and on the disk; where it cannot be replaced, it is written into, and where a descriptor
// or a pipe is named, that is. What is written belongs to the callers.
#pragma once

#include <chrono>
#include <string>

#include "core/output_place.hpp"

namespace tilewright {

class OutputFile {
 public:
  // Finds where the path leads; nothing is made. Throws Error naming the argument where that cannot be
  // written, as with another user's file in a folder that everybody can write to.
  explicit OutputFile(OutputName name);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // what was not committed is gone, and an older file is as it was

  // Of the file itself, not of a link to it.
  const std::string& path() const noexcept { return place_.path; }
  bool exists() const noexcept { return place_.status.has_value(); }
  // A descriptor, pipe or device: bytes are written in order, and what is there stays.
  bool is_stream() const noexcept;
  bool is_device() const noexcept;
  // The program's standard output, under whatever name or number.
  bool is_stdout() const;

  // Makes a file that nobody sees yet, readable and writable, and returns its descriptor. commit() puts it in
  // the place of the older one, whose owner and rights it takes over without set-ID bits, or copies it into
  // what keeps its place: files with several names, mounted ones, those whose owner cannot be kept, streams.
  int make();
  void commit();
  // Both, with this text.
  void write(const std::string& text);

  // The file itself, made where there is none, for lines that are added to it: O_RDWR or O_WRONLY, O_APPEND.
  int open_itself(int flags);
  // Whether that is still the file of this name.
  bool is_in_place() const;
  // Takes away the file that open_itself() made.
  void remove_if_made();

 private:
  bool must_stay(const struct stat& status) const;
  bool is_writable() const;
  bool make_nameless();
  void make_hidden();
  void make_scratch();
  bool give_rights();
  bool give_name();
  bool replace();
  void write_into();

  OutputName name_;
  OutputPlace place_;
  Descriptor file_;          // the new one
  Descriptor itself_;        // the one of the name
  std::string hidden_;       // the new one's name in the folder; "" while it has none
  bool is_scratch_ = false;  // it lies elsewhere, since the folder takes no file
  bool was_made_ = false;
};

// Replaces or makes a file by one that holds the text. Throws Error naming the output.
inline void write_file(const OutputName& name, const std::string& text) { OutputFile(name).write(text); }

// Writes all of the text where the file's position is. Returns 0 or an error number.
int write_whole(int file, const std::string& text);

// Copies from the first file's beginning to where the second one's position is. Returns 0 or an error number.
int copy_whole(int from, int to);

// Whether two paths name one file, also by links and other spellings, and also before it is there.
bool is_same_file(const std::string& x, const std::string& y);

// Locks an open file, waiting so long where another process has it. False: it still has it. File systems
// without locks count as free, since refusing would lose the work.
bool lock_file(int file, std::chrono::milliseconds wait);

}  // namespace tilewright
