// A file of JSON lines that one run appends to, each line flushed as it is written, so that a killed run
// loses the line in hand and nothing else. It knows neither what the lines mean nor which run may go on; its
// users (sweep_log.hpp, the energy sweep's program) say that.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/new_file.hpp"

namespace tilewright {

struct LineLogRules {
  std::string argument = "sweep";  // by which errors name the file, and `dashes` where it is a flag
  std::string opening;             // the first key of the first line of such a file; others are left alone
  bool resume = false;             // read what is there; otherwise begin anew and keep it as `path`.before
  std::string kind = "";           // a key that the first line has as well: files of several kinds open alike
  bool keep_all = true;            // every earlier file: .before, .before.2, ...; else the last one only
  std::string what = "sweep log";  // that errors miss
  bool evades = false;  // where another run writes the file: to the next free one of sweep.2.jsonl, ...
  std::string dashes = "--";
};

// Throws Error(invalid_argument) naming the argument where `path` holds something else than such a file. One
// that is absent or empty, or that ended within its first line, is nobody's.
void refuse_foreign_file(const std::string& path, const LineLogRules& rules);

class LineLog {
 public:
  // Throws Error(io) where the file cannot be written or another run writes it, Error(invalid_argument) for a
  // file that is no such log. With `resume` a last line that was cut off is dropped.
  LineLog(const std::string& path, const LineLogRules& rules);

  const std::string& path() const noexcept { return path_; }  // of the file that is written
  // The lines of an earlier run; empty for a new log.
  const std::vector<nlohmann::json>& kept() const noexcept { return kept_; }
  // Throws Error(io) when the line cannot be written.
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
