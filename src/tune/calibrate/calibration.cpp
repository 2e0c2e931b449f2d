// For each task: time, fit, validate, keep.
#include "tune/calibrate/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "wisdom/node_model.hpp"

namespace tilewright {
namespace {

// Timings of another run count only if these are equal.
nlohmann::json run_of(const CalibrationOptions& options, const CalibrationMachine& machine) {
  const CalibratedHost& host = machine.host();
  nlohmann::json run = {{"device", host.device},
                        {"blas", host.blas},
                        {"threads", host.threads},
                        {"quick", options.scope.quick},
                        {"gpus", nlohmann::json::array()}};
  for (const CalibratedGpu& gpu : machine.gpus())
    run["gpus"].push_back(fmt::format("{} {} {}", gpu.device, gpu.name, gpu.driver));
  for (const DType dtype : options.scope.dtypes) run["dtypes"].push_back(to_string(dtype));
  return run;
}

double weight_of(const std::vector<Experiment>& experiments) {
  double sum = 0;
  for (const Experiment& e : experiments) sum += weight_of(e);
  return sum;
}

class CalibrationRun {
 public:
  CalibrationRun(const CalibrationOptions& options, CalibrationMachine& machine, CalibrationWatcher& watcher)
      : options_(options),
        machine_(machine),
        watcher_(watcher),
        tasks_(calibration_tasks(machine, options.scope)),
        timer_(machine, {options.log, options.resume, run_of(options, machine)}),
        begin_(machine.now()) {
    for (const CalibrationTask& task : tasks_)
      weight_ += weight_of(task.installation) + weight_of(task.validation);
  }

  CalibrationReport run() {
    report_.kept_timings = timer_.kept();
    for (const CalibrationTask& task : tasks_) {
      prepare(task);
      if (!time_all(task.installation) || !time_all(task.validation)) {
        report_.stopped = true;
        break;
      }
      finish(task);
    }
    if (report_.validated > 0) report_.mean_deviation /= double(report_.validated);
    report_.timings = timer_.timings();
    report_.spent_s = spent_s();
    return report_;
  }

 private:
  double spent_s() { return machine_.now() - begin_; }

  void prepare(const CalibrationTask& task) {
    std::vector<Experiment> unknown;
    for (const auto* set : {&task.installation, &task.validation})
      for (const Experiment& e : *set)
        if (!timer_.is_known(e)) unknown.push_back(e);
    if (task.model == gemm_device_model && !unknown.empty() && spent_s() < options_.budget_s)
      machine_.prepare(unknown);
  }

  // Each experiment gets its share of the remaining budget. False if the watcher ends the calibration.
  bool time_all(const std::vector<Experiment>& experiments) {
    for (const Experiment& e : experiments) {
      if (watcher_.stop(done_ / weight_, to_string(e))) return false;
      const double left_s = options_.budget_s - spent_s(), left = std::max(weight_ - done_, weight_of(e));
      const TimedPoint point = timer_.time(e, std::max(0.0, left_s * weight_of(e) / left));
      done_ += weight_of(e);
      timings_.add(e, point);
      report_.rejected += point.rejected;
      ++(point.fault.empty() ? report_.points : report_.left_out);
      if (point.over_budget) {
        if (too_long_.empty()) why_too_long_ = point.fault;
        too_long_.push_back(e);
      } else if (!point.fault.empty()) {
        watcher_.left_out({e}, point.fault);
      }
    }
    return true;
  }

  void finish(const CalibrationTask& task) {
    if (!too_long_.empty()) watcher_.left_out(std::exchange(too_long_, {}), why_too_long_);
    CalibratedModel model{task, fit_task(task, timings_, machine_), {}, {}};
    if (!model.fitted.is_fitted()) {
      ++report_.unfitted;
      watcher_.unfitted(task, model.fitted);
      return;
    }
    ++report_.fitted;
    model.record = record_of(task, model.fitted, machine_);
    model.record.command = options_.command;
    validate(model);
    if (model.misses_validation()) {
      model.is_kept = false;
      ++report_.missed;
    } else if (options_.store != nullptr) {
      model.is_kept = options_.store->add_found(model.record);
    }
    watcher_.fitted(model);
  }

  void validate(CalibratedModel& model) {
    double sum = 0, worst = 0;
    for (const Experiment& e : model.task.validation) {
      const TimedPoint* point = timings_.find(e);
      const double predicted = model.fitted.predict ? model.fitted.predict(e) : 0;
      if (point == nullptr || !(predicted > 0)) continue;
      model.validation.push_back({e, *point, predicted});
      const double deviation = std::abs(model.validation.back().deviation());
      sum += deviation, worst = std::max(worst, deviation);
      if (deviation >= report_.worst_deviation)
        report_.worst_deviation = deviation, report_.worst_case = to_string(e);
    }
    const auto count = std::int64_t(model.validation.size());
    report_.validated += count, report_.mean_deviation += sum;
    if (count > 0) model.mean_deviation = sum / double(count);
    if (count > 0)
      model.record.extra["validation"] = {
          {"count", count}, {"mean_deviation", sum / double(count)}, {"worst_deviation", worst}};
  }

  const CalibrationOptions& options_;
  CalibrationMachine& machine_;
  CalibrationWatcher& watcher_;
  std::vector<CalibrationTask> tasks_;
  PointTimer timer_;
  Timings timings_;
  CalibrationReport report_;
  std::vector<Experiment> too_long_;  // of the current task
  std::string why_too_long_;
  double begin_, weight_ = 0, done_ = 0;
};

}  // namespace

CalibrationReport calibrate(const CalibrationOptions& options, CalibrationMachine& machine,
                            CalibrationWatcher& watcher) {
  return CalibrationRun(options, machine, watcher).run();
}

}  // namespace tilewright
