// One calibration, P3's installation step: it times the installation set of each model, fits the model, holds
// it against a validation set that the fit has not seen, and keeps it in wisdom before it goes on to the
// next. It shares a budget out among the experiments, goes on from a log, and prints nothing; a watcher is
// told.
#pragma once

#include <string>
#include <vector>

#include "tune/calibrate/fits.hpp"
#include "wisdom/store.hpp"

namespace tilewright {

struct CalibrationOptions {
  CalibrationScope scope;
  double budget_s = 240;
  std::string log;  // "": none
  bool resume = false;
  WisdomStore* store = nullptr;  // keeps the models; null: nobody
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
  bool is_kept = true;        // false: wisdom has a newer one, or it misses what it was not fitted to
  double mean_deviation = 0;  // of the validation, without signs

  // A model that errs by a quarter in the mean chooses at random between ways that differ by less: its
  // predecessor or the rule of thumb does better, and the next calibration on a quiet machine too.
  static constexpr double most_deviation = 0.25;
  bool misses_validation() const { return mean_deviation > most_deviation; }
};

// Told of what happens.
class CalibrationWatcher {
 public:
  virtual ~CalibrationWatcher() = default;
  // Asked before each experiment: true ends the calibration.
  virtual bool stop(double /*share_done*/, const std::string& /*now*/) { return false; }
  // Those that the budget is too small for are told once for each model, with the reason of the first.
  virtual void left_out(const std::vector<Experiment>&, const std::string& /*reason*/) {}
  virtual void fitted(const CalibratedModel&) {}
  // There is too little to fit the model to; the notes say what.
  virtual void unfitted(const CalibrationTask&, const FittedTask&) {}
};

struct CalibrationReport {
  int fitted = 0, unfitted = 0;
  int missed = 0;  // of the fitted ones, those that miss their own validation and are not kept
  std::int64_t timings = 0, kept_timings = 0;  // of this run, and of the one that is resumed
  std::int64_t rejected = 0;                   // timings that were disturbed
  std::int64_t points = 0, left_out = 0;       // experiments
  // Predicted against measured, of all validation rows.
  std::int64_t validated = 0;
  double mean_deviation = 0, worst_deviation = 0;
  std::string worst_case;
  double spent_s = 0;
  bool stopped = false;  // because the watcher said so
};

// Throws Error for a log of another run, and what keeping throws; what was kept before that stays.
CalibrationReport calibrate(const CalibrationOptions& options, CalibrationMachine& machine,
                            CalibrationWatcher& watcher);

}  // namespace tilewright
