// Times experiments one by one within a budget, each until its timings agree, and logs every round of
// timings, so that a killed run resumes without measuring them again. Repeated timings make one point of a
// fit, their median: a timing disturbed by another program is rejected and counted, never averaged in.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tune/calibrate/machine.hpp"
#include "tune/line_log.hpp"

namespace tilewright {

struct TimedPoint {
  double seconds = 0;        // median of the accepted timings
  double spread = 0;         // their robust standard deviation, relative
  double low = 0, high = 0;  // of the median, with 95 % confidence
  std::int64_t samples = 0, rejected = 0;
  std::string fault;         // the reason why it cannot be fitted to; "" if it can
  bool over_budget = false;  // the fault is a budget that is too small
};

// Throws Error(invalid_argument) without timings or for one that is not positive.
TimedPoint point_of(const std::vector<double>& seconds);

struct PointLog {
  std::string path;  // "": none
  bool resume = false;
  nlohmann::json run = nlohmann::json::object();  // must equal the log's for its timings to count
};

class PointTimer {
 public:
  // Throws what LineLog throws, and Error(invalid_argument) for a log of another run.
  PointTimer(CalibrationMachine& machine, const PointLog& log);

  // The point has a fault if the experiment does not fit into `allowance_s`, the machine cannot run it, or
  // its timings disagree. With an allowance of 0 only the log answers.
  TimedPoint time(const Experiment& experiment, double allowance_s);
  bool is_known(const Experiment& experiment) const { return known_.contains(to_string(experiment)); }

  std::int64_t kept() const { return kept_; }        // timings of the resumed run
  std::int64_t timings() const { return timings_; }  // of this run

 private:
  using Rounds = std::vector<std::vector<double>>;

  double predicted_s(const Experiment& experiment) const;
  std::vector<double> one_round(const Experiment& experiment, double allowance_s);
  void learn(const Experiment& experiment, double seconds);

  CalibrationMachine& machine_;
  std::unique_ptr<LineLog> log_;
  std::map<std::string, Rounds> known_;
  std::map<std::string, double> seconds_per_unit_;  // by kind of work, of the latest
  std::int64_t kept_ = 0, timings_ = 0;
};

}  // namespace tilewright
