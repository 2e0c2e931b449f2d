// One calibration, the installation step of Bernabe 2014: for each model it times the installation set, fits
// the model, validates it on experiments that the fit has not seen, and keeps it in wisdom before the next.
// It divides a budget among the experiments, resumes from a log, and reports to a watcher.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "tune/calibrate/least_squares.hpp"
#include "tune/calibrate/point_timer.hpp"
#include "wisdom/model.hpp"
#include "wisdom/store.hpp"

namespace tilewright {

// The fits of models to measured times (fits.cpp).

// All measured points.
class Timings {
 public:
  void add(const Experiment& experiment, const TimedPoint& point);
  // Null if it was not measured or has a fault.
  const TimedPoint* find(const Experiment& experiment) const;
  // Bytes per second through host memory by all threads under this load; 0 if that was not timed.
  double stream_rate(Beside beside) const;
  // The same of the transfers of all GPUs in both directions at once.
  double transfer_rate() const;

 private:
  std::map<std::string, std::pair<Experiment, TimedPoint>> points_;
};

// One formula with its fit.
struct FittedPart {
  std::string name;                // "to_device", "square"
  std::vector<std::string> terms;  // names of its coefficients
  LeastSquaresFit fit;
  bool is_main = true;  // counts for the record's residual
};

struct FittedTask {
  nlohmann::json coefficients = nlohmann::json::object();  // as wisdom keeps them
  std::vector<FittedPart> parts;
  std::vector<std::string> notes;  // formulas that could not be fitted, with the reasons
  // Seconds; 0 for experiments that the model does not cover.
  std::function<double(const Experiment&)> predict;

  bool is_fitted() const { return !coefficients.empty(); }
};

// t = sum of coefficient x term(experiment).
struct Formula {
  std::string name;
  std::vector<std::string> terms;
  std::function<std::vector<double>(const Experiment&)> of;
  bool is_main = true;
};

// Fits the formula to the timed experiments. Null, with a note, if too few, or the mean explains more.
const FittedPart* add_fit(FittedTask& to, const Formula& formula, const std::vector<Experiment>& experiments,
                          const Timings& timings);

FittedTask fit_task(const CalibrationTask& task, const Timings& timings, const CalibrationMachine& machine);

// The fitted task as a record of wisdom, with the fit of each formula under "fits".
FittedModel record_of(const CalibrationTask& task, const FittedTask& fitted,
                      const CalibrationMachine& machine);

struct CalibrationOptions {
  CalibrationScope scope;
  double budget_s = 240;
  std::string log;  // "": none
  bool resume = false;
  WisdomStore* store = nullptr;  // keeps the models; null: nothing is kept
  std::string command;           // for the records
};

struct ValidationRow {
  Experiment experiment;
  TimedPoint point;
  double predicted_s = 0;
  double deviation() const { return predicted_s / point.seconds - 1; }
};

struct CalibratedModel {
  CalibrationTask task;
  FittedTask fitted;
  FittedModel record;
  std::vector<ValidationRow> validation;
  bool is_kept = true;        // false: wisdom has a newer one, or it misses the validation
  double mean_deviation = 0;  // of absolute values, over the validation

  // With a larger mean error the choice of plans is random: the previous model or default does better.
  static constexpr double most_deviation = 0.25;
  bool misses_validation() const { return mean_deviation > most_deviation; }
};

class CalibrationWatcher {
 public:
  virtual ~CalibrationWatcher() = default;
  // Called before each experiment: true ends the calibration.
  virtual bool stop(double /*share_done*/, const std::string& /*now*/) { return false; }
  // Experiments beyond the budget come once for each model, with the reason of the first.
  virtual void left_out(const std::vector<Experiment>&, const std::string& /*reason*/) {}
  virtual void fitted(const CalibratedModel&) {}
  // Too few experiments to fit the model to; the notes name them.
  virtual void unfitted(const CalibrationTask&, const FittedTask&) {}
};

struct CalibrationReport {
  int fitted = 0, unfitted = 0;
  int missed = 0;                              // fitted models that miss their validation and are not kept
  std::int64_t timings = 0, kept_timings = 0;  // of this run, and of the resumed one
  std::int64_t rejected = 0;                   // disturbed timings
  std::int64_t points = 0, left_out = 0;       // experiments
  // Deviations of predicted from measured times, over all validation rows.
  std::int64_t validated = 0;
  double mean_deviation = 0, worst_deviation = 0;
  std::string worst_case;
  double spent_s = 0;
  bool stopped = false;  // by the watcher
};

// Throws Error for a log of another run or if a model cannot be kept; models kept before that stay.
CalibrationReport calibrate(const CalibrationOptions& options, CalibrationMachine& machine,
                            CalibrationWatcher& watcher);

// Reports (report.cpp): texts for people, and JSON lines for scripts. model_lines() returns the record of
// wisdom, then a row for each experiment of the validation set.
std::string machine_text(const CalibrationMachine& machine);
std::string model_text(const CalibratedModel& model);
std::string unfitted_text(const CalibrationTask& task, const FittedTask& fitted,
                          const CalibrationMachine& machine);
std::string left_out_text(const std::vector<Experiment>& experiments, const std::string& reason);
std::string summary_text(const CalibrationReport& report);
std::vector<nlohmann::json> model_lines(const CalibratedModel& model);
nlohmann::json summary_line(const CalibrationReport& report);

}  // namespace tilewright
