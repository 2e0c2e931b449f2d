// The log of a tuning run: one JSON line per measured turn of a candidate, per candidate that passed or
// failed the gate, and per problem that is done, each flushed as it is written. A run that was killed at any
// moment goes on from it: what was measured is taken from the log and not measured again. Replay reads it,
// too.
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
  SweepLog() = default;  // keeps nothing
  // `run` says what was asked for (strategy, objective, device, source hash, ...). With `resume` an existing
  // log is read back; one of another run is refused with Error(invalid_argument) naming the difference. A
  // last line that was cut off is dropped. Without `resume` the log starts anew and the old one is kept as
  // `path`.before (`keep_all`: .before.2 and so on where there is one already). One run at a time writes a
  // log: Error(io) for the second.
  // With `evades` and without `resume` the second one goes to a file of another name (line_log.hpp). Errors
  // call the file `argument`.
  SweepLog(const std::string& path, const nlohmann::json& run, bool resume, bool keep_all = true,
           bool evades = false, const std::string& argument = "--sweep");
  std::string path() const { return file_ ? file_->path() : ""; }  // of the file that is written

  // The next turn of this candidate at this stage that an earlier run measured and nobody took yet.
  std::optional<Metrics> take(const std::string& problem, const std::string& stage,
                              const std::string& config);
  // Why an earlier run found the candidate wrong; "" when it did not.
  std::string failure(const std::string& problem, const std::string& config) const;
  // How exact an earlier run's gate found it; empty when that did not pass it.
  std::optional<Accuracy> passed(const std::string& problem, const std::string& config) const;
  // The records of a problem that is done; none when it is not.
  std::vector<WisdomRecord> result(const std::string& problem) const;

  // Throws Error(io) when the line cannot be written. `origin` says of the lines that follow where and from
  // which sources they were measured: device, device_uuid, source_hash. `peer` names whose turn or failure it
  // is where it is none of ours, "cublas".
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
