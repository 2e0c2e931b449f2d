// The log of a tuning run: a JSON line per measured turn, verdict of the gate and finished problem, each
// flushed as it is written. A killed run resumes from it without measuring again. Replay reads it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/json.hpp"
#include "core/objective.hpp"
#include "measure/accuracy.hpp"
#include "tune/line_log.hpp"
#include "wisdom/record.hpp"

namespace tilewright {

class SweepLog {
 public:
  SweepLog() = default;  // logs nothing
  // `run` describes the run (strategy, objective, device, source hash, ...). `resume` reads an existing log,
  // without a torn last line, and throws Error(invalid_argument) naming the difference if it is of another
  // run. Without `resume` the log starts anew and the old one is kept as `path`.before (`keep_all`: also
  // .before.2 and so on). A second run that writes the same log gets Error(io) or, with `evades` and without
  // `resume`, a file of another name (line_log.hpp). Errors call the file `argument`.
  SweepLog(const std::string& path, const nlohmann::json& run, bool resume, bool keep_all = true,
           bool evades = false, const std::string& argument = "--sweep");
  std::string path() const { return file_ ? file_->path() : ""; }  // of the written file

  // The next unused turn of this candidate and stage from an earlier run.
  std::optional<Metrics> take(const std::string& problem, const std::string& stage,
                              const std::string& config);
  // The reason why the candidate failed in an earlier run; "" if it did not.
  std::string failure(const std::string& problem, const std::string& config) const;
  // Its accuracy if it passed in an earlier run.
  std::optional<Accuracy> passed(const std::string& problem, const std::string& config) const;
  // The records of a finished problem.
  std::vector<WisdomRecord> result(const std::string& problem) const;

  // Throws Error(io) if the line cannot be written. `origin` describes later lines: device, device_uuid,
  // source_hash. `peer` names the peer ("cublas") whose turn or failure it is.
  void add_base(const std::string& problem, const nlohmann::json& base,
                const nlohmann::json& origin = nlohmann::json::object());
  void add_turn(const std::string& problem, const std::string& stage, const nlohmann::json& config,
                const Metrics& metrics, const std::string& peer = "");
  void add_failure(const std::string& problem, const nlohmann::json& config, const std::string& reason,
                   const std::string& peer = "");
  void add_passed(const std::string& problem, const nlohmann::json& config, const Accuracy& accuracy);
  void add_result(const std::string& problem, const std::vector<WisdomRecord>& records);

  std::int64_t kept() const noexcept { return kept_; }  // turns read from an earlier run

 private:
  void take_in(const nlohmann::json& line);
  void write(const nlohmann::json& line);

  std::unique_ptr<LineLog> file_;
  std::map<std::string, std::deque<Metrics>> turns_;
  std::map<std::string, std::string> failures_;
  std::map<std::string, Accuracy> passed_;
  std::map<std::string, std::vector<WisdomRecord>> results_;
  std::int64_t kept_ = 0;
};

}  // namespace tilewright
