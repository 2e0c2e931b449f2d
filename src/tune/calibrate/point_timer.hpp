// Times experiments one by one within a budget, each until its timings agree, and keeps every round of
// timings in a log from which a killed run goes on: what is there is not measured again.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tune/calibrate/machine.hpp"
#include "tune/calibrate/repeats.hpp"
#include "tune/line_log.hpp"

namespace tilewright {

struct PointLog {
  std::string path;  // "": none
  bool resume = false;
  nlohmann::json run = nlohmann::json::object();  // what must be the same for earlier timings to count
};

class PointTimer {
 public:
  // Throws what LineLog throws, and Error(invalid_argument) for a log of another run.
  PointTimer(CalibrationMachine& machine, const PointLog& log);

  // The point of this experiment, whose `fault` says why there is none: what it takes does not fit into
  // `allowance_s`, the machine cannot do it, or its timings disagree. With nothing allowed only what is
  // known from the log is given.
  TimedPoint time(const Experiment& experiment, double allowance_s);
  // Whether the log has it.
  bool is_known(const Experiment& experiment) const;

  std::int64_t kept() const { return kept_; }        // timings of an earlier run
  std::int64_t timings() const { return timings_; }  // of this one

 private:
  using Rounds = std::vector<std::vector<double>>;

  double predicted_s(const Experiment& experiment) const;
  std::vector<double> one_round(const Experiment& experiment, double allowance_s);
  void learn(const Experiment& experiment, double seconds);

  CalibrationMachine& machine_;
  RepeatRules rules_;
  std::unique_ptr<LineLog> log_;
  std::map<std::string, Rounds> known_;
  std::map<std::string, double> seconds_per_unit_;  // by kind of work, of the last one timed
  std::int64_t kept_ = 0, timings_ = 0;
};

}  // namespace tilewright
