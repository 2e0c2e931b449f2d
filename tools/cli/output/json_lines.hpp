// The output of --json FILE: one JSON object per line into a file, or to stdout for "-". If JSON goes to
// stdout, text for people goes to stderr.
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
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;

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

}  // namespace tilewright::cli
