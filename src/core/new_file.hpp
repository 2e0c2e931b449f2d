// The one writer of files: outputs, exports, reports, records and caches. A file appears under its name only
// when it is whole and on the disk. Descriptors, pipes and files that cannot be replaced are written into.
#pragma once

#include <sys/stat.h>

#include <chrono>
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

// An output's name in messages. A wrong path is an invalid argument, or a failed job if not the caller's.
struct OutputName {
  std::string argument, path;
  ErrorCode wrong_path = ErrorCode::invalid_argument;

  std::string text() const;  // output = 'C.npy'
  [[noreturn]] void fail(const std::string& doing, int error) const;
  [[noreturn]] void refuse(const std::string& why) const;
};

// The destination of an output: a name in an open folder, or an open descriptor such as /dev/fd/3.
struct OutputPlace {
  Descriptor folder;                  // open, so that renaming a folder above it changes nothing
  std::string name;                   // in that folder
  std::string path;                   // of the file itself, for messages and for readers
  bool is_link = false;               // true if the caller named a link to it
  std::optional<struct stat> status;  // of the existing entry, if any
  Descriptor stream;                  // open for writing if a descriptor was named
  int number = -1;                    // of that descriptor
};

// Throws Error naming the output if the path cannot be written.
OutputPlace find_output_place(const OutputName& name);

class OutputFile {
 public:
  // Resolves the path without creating anything. Throws Error naming the argument if the place cannot be
  // written, as with another user's file in a folder that everybody can write to.
  explicit OutputFile(OutputName name);
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // discards what was not committed: an older file is as it was

  // The path of the file itself, not of a link to it.
  const std::string& path() const noexcept { return place_.path; }
  bool exists() const noexcept { return place_.status.has_value(); }
  // True for a descriptor, pipe or device: bytes are written in order, and existing contents stay.
  bool is_stream() const noexcept;
  bool is_device() const noexcept;
  // True for the program's standard output, under whatever name or number.
  bool is_stdout() const;

  // Makes an invisible file and returns its descriptor, to read and write. commit() puts it in the place of
  // the older file, whose owner and rights it takes over without set-ID bits, or copies it into a file that
  // must keep its place: one with several names, a mounted one, one whose owner cannot be kept, a stream.
  int make();
  void commit();
  // Calls make(), writes this text, and calls commit().
  void write(const std::string& text);

  // Opens the file itself, made if there is none, to append lines: O_RDWR or O_WRONLY, O_APPEND.
  int open_itself(int flags);
  // True if the file that open_itself() opened still has this name.
  bool is_in_place() const;
  // Removes the file if open_itself() made it.
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
  Descriptor file_;          // the new file
  Descriptor itself_;        // the file that has the name
  std::string hidden_;       // the new file's name in the folder; "" while it has none
  bool is_scratch_ = false;  // the new file lies elsewhere, since the folder accepts no file
  bool was_made_ = false;
};

// Replaces or makes a file by one that holds the text. Throws Error naming the output.
inline void write_file(const OutputName& name, const std::string& text) { OutputFile(name).write(text); }

// Writes all of the text at the file's current position. Returns 0 or an error number.
int write_whole(int file, const std::string& text);

// Copies the whole of the first file to the current position of the second. Returns 0 or an error number.
int copy_whole(int from, int to);

// True if two paths name one file, also through links and other spellings, and also before the file exists.
bool is_same_file(const std::string& x, const std::string& y);

// Locks an open file, waiting up to `wait` if another process holds the lock. Returns false if that process
// still holds it. File systems without locks count as free, since refusing would lose the work.
bool lock_file(int file, std::chrono::milliseconds wait);

}  // namespace tilewright
