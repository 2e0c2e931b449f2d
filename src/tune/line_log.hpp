// A file of JSON lines that one run appends to, each line flushed as it is written: a killed run loses the
// current line alone. sweep_log.hpp and other users give the lines their meaning.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/new_file.hpp"

namespace tilewright {

struct LineLogRules {
  std::string argument = "sweep";  // names the file in errors, with `dashes` for a flag
  std::string opening;             // the first key of the first line; other files stay as they are
  bool resume = false;             // read the file; else begin anew and keep it as `path`.before
  std::string kind = "";           // another key of the first line, for files of several kinds
  bool keep_all = true;            // keep every earlier file (.before, .before.2, ...), not only the last
  std::string what = "sweep log";  // name of the kind of file in errors
  bool evades = false;             // if another run writes the file, take the next of sweep.2.jsonl, ...
  std::string dashes = "--";
};

// Throws Error(invalid_argument) with the argument for other files. Missing, empty or torn first lines pass.
void refuse_foreign_file(const std::string& path, const LineLogRules& rules);

class LineLog {
 public:
  // Throws Error(io) if the file cannot be written or another run writes it, Error(invalid_argument) for
  // another kind of file. `resume` drops a torn last line.
  LineLog(const std::string& path, const LineLogRules& rules);

  const std::string& path() const noexcept { return path_; }  // of the written file
  // The lines of an earlier run; empty for a new log.
  const std::vector<nlohmann::json>& kept() const noexcept { return kept_; }
  // Throws Error(io) if the line cannot be written.
  void write(const nlohmann::json& line);

  // Throws Error(invalid_argument) naming the first item of `now` that differs from `before`.
  void refuse_other_run(const nlohmann::json& before, const nlohmann::json& now) const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void open();
  void cut(std::size_t bytes) const;
  void keep_aside() const;
  void drop_torn_line() const;
  void read();

  std::string path_;
  LineLogRules rules_;
  std::unique_ptr<OutputFile> file_;
  int descriptor_ = -1;
  std::vector<nlohmann::json> kept_;
};

}  // namespace tilewright
