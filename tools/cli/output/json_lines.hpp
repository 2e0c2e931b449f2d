// The output of --json FILE: one JSON object per line into a file, or to stdout for "-". If JSON goes to
// stdout, text for people goes to stderr. And checks of the files that a command names before it
// starts: inputs that cannot be opened, outputs in folders that do not exist, outputs that would overwrite an
// input or one another.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/new_file.hpp"

namespace tilewright::cli {

class JsonLines {
 public:
  // "" writes nothing. With `keeps`, lines are appended to those in the file. Throws Error(invalid_argument)
  // if the file cannot be opened.
  explicit JsonLines(const std::string& path, bool keeps = false);
  ~JsonLines();
  JsonLines& operator=(JsonLines&&) = delete;

  explicit operator bool() const { return file_ != -1; }
  std::FILE* people() const { return is_stdout_ ? stderr : stdout; }

  // Writes `object` before the next line: a run that measures nothing leaves the file unchanged.
  void head(const nlohmann::json& object) { heads_.push_back(object); }
  void write(const nlohmann::json& object);

 private:
  OutputName name_;
  std::optional<OutputFile> output_;
  int file_ = -1;
  std::vector<nlohmann::json> heads_;
  bool is_stdout_ = false;
  bool is_stream_ = false;  // the file cannot be truncated
  bool written_;            // the old contents stay until there is a line to replace them
};

// The argument that names a file, and the file; "" and "-" name none.
struct NamedFile {
  std::string argument, path;
};

// Throws Error(invalid_argument) naming an output that is also an input or another output.
void keep_files_apart(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs);

// Throw Error(invalid_argument): a wrong path is wrong use, whichever verb it is given to.
void require_readable(const std::string& argument, const std::string& path);
void require_place(const std::string& argument, const std::string& path);

}  // namespace tilewright::cli
