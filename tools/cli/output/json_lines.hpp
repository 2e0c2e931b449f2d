// Where --json FILE goes: one JSON object per line into a file, or to stdout for "-". When stdout is taken by
// JSON, what is meant for people goes to stderr.
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
  // "" writes nothing. With `keeps` lines follow those that the file has. Throws Error(invalid_argument) when
  // the file cannot be opened.
  explicit JsonLines(const std::string& path, bool keeps = false);
  ~JsonLines();
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;

  explicit operator bool() const { return file_ != -1; }
  std::FILE* people() const { return is_stdout_ ? stderr : stdout; }

  // What the next line shall follow: a run that measures nothing leaves the file as it was.
  void head(const nlohmann::json& object) { heads_.push_back(object); }
  void write(const nlohmann::json& object);

 private:
  OutputName name_;
  std::optional<OutputFile> output_;
  int file_ = -1;
  std::vector<nlohmann::json> heads_;
  bool is_stdout_ = false;
  bool is_stream_ = false;  // where nothing can be taken back
  bool written_;            // what the file held before stays until there is something to put in its place
};

}  // namespace tilewright::cli
