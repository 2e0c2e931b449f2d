// Where --json FILE goes: one JSON object per line into a file, or to stdout for "-". When stdout is taken by
// JSON, what is meant for people goes to stderr.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/types.hpp"

namespace tilewright::cli {

class JsonLines {
 public:
  // "" writes nothing. With `keeps` lines follow those that the file has. Throws Error(invalid_argument) when
  // the file cannot be opened.
  explicit JsonLines(const std::string& path, bool keeps = false) : path_(path), written_(keeps) {
    if (path.empty()) return;
    if (path == "-") {
      if ((::fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
        throw Error(ErrorCode::invalid_argument, "json", "json = '-' is stdout, which is closed");
      file_ = stdout;
      return;
    }
    is_new_ = ::access(path.c_str(), F_OK) != 0;
    file_ = std::fopen(path.c_str(), "a");
    if (file_ == nullptr)
      throw Error(ErrorCode::invalid_argument, "json",
                  "json = '" + path + "' cannot be opened for writing: " + std::strerror(errno));
  }
  ~JsonLines() {
    if (file_ == nullptr || file_ == stdout) return;
    std::fclose(file_);
    if (is_new_ && !written_) ::unlink(path_.c_str());
  }
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;

  explicit operator bool() const { return file_ != nullptr; }
  std::FILE* people() const { return path_ == "-" ? stderr : stdout; }

  // What the next line shall follow: a run that measures nothing leaves the file as it was.
  void head(const nlohmann::json& object) { heads_.push_back(object); }
  void write(const nlohmann::json& object) {
    for (const auto& line : std::exchange(heads_, {})) write(line);
    if (file_ == nullptr) return;
    if (!written_ && file_ != stdout && ::ftruncate(::fileno(file_), 0) != 0 && errno != EINVAL)
      throw Error(ErrorCode::io, "json", "json = '" + path_ + "' cannot be emptied");
    // What a path holds that is not UTF-8 is no JSON: it is written as U+FFFD.
    const std::string line = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    const off_t whole = file_ == stdout ? -1 : ::lseek(::fileno(file_), 0, SEEK_END);
    const bool is_whole =
        std::fwrite(line.data(), 1, line.size(), file_) == line.size() && std::fflush(file_) == 0;
    const int error_number = errno;
    written_ = written_ || is_whole;
    if (is_whole) return;
    if (whole >= 0) (void)!::ftruncate(::fileno(file_), whole);  // no half of a line stays
    throw Error(ErrorCode::io, "json",
                "json = '" + path_ + "' cannot be written: " + std::strerror(error_number));
  }

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  std::vector<nlohmann::json> heads_;
  bool is_new_ = false;
  bool written_;  // what the file held before stays until there is something to put in its place
};

}  // namespace tilewright::cli
