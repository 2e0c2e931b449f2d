// What measured times say of a machine: the coefficients of each model, how they were fitted, and the times
// that the model gives for experiments. It measures nothing and keeps nothing.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "tune/calibrate/installation.hpp"
#include "tune/calibrate/least_squares.hpp"
#include "tune/calibrate/repeats.hpp"
#include "wisdom/model.hpp"

namespace tilewright {

// All that was measured and may be fitted to.
class Timings {
 public:
  void add(const Experiment& experiment, const TimedPoint& point);
  // Null where it was not measured or cannot be fitted to.
  const TimedPoint* find(const Experiment& experiment) const;
  // Bytes per second through the host's memory by all threads, beside this; 0 where that was not timed.
  double stream_rate(Beside beside) const;
  // Likewise of the transfers of all GPUs in both directions at once.
  double transfer_rate() const;

 private:
  std::map<std::string, std::pair<Experiment, TimedPoint>> points_;
};

// One formula with its own data.
struct FittedPart {
  std::string name;                // "to_device", "square"
  std::vector<std::string> terms;  // names of its coefficients
  LeastSquaresFit fit;
  bool is_main = true;  // counts for the record's residual
};

struct FittedTask {
  nlohmann::json coefficients = nlohmann::json::object();  // as wisdom keeps them
  std::vector<FittedPart> parts;
  std::vector<std::string> notes;  // what could not be fitted, and why
  // Seconds; 0 where the model says nothing of it.
  std::function<double(const Experiment&)> predict;

  bool is_fitted() const { return !coefficients.empty(); }
};

FittedTask fit_task(const CalibrationTask& task, const Timings& timings, const CalibrationMachine& machine);

// One formula t = sum of coefficient x term(experiment) fitted to those of the experiments that were timed;
// nothing where they are too few, or where it explains less than nothing of them, which a note then says.
struct Formula {
  std::string name;
  std::vector<std::string> terms;
  std::function<std::vector<double>(const Experiment&)> of;
  bool is_main = true;
};
const FittedPart* add_fit(FittedTask& to, const Formula& formula, const std::vector<Experiment>& experiments,
                          const Timings& timings);

// Those experiments that `is_of` is true for.
template <class F>
std::vector<Experiment> chosen(const std::vector<Experiment>& all, F&& is_of) {
  std::vector<Experiment> some;
  for (const Experiment& e : all)
    if (is_of(e)) some.push_back(e);
  return some;
}

// Of products, gemm_fits.cpp. `c_s` is what moving an element of C in and out of memory takes; 0: unknown.
FittedTask fit_products(const CalibrationTask& task, const Timings& timings, double c_s);

// The fitted task as a record of wisdom. The way each formula was fitted is under "fits".
FittedModel record_of(const CalibrationTask& task, const FittedTask& fitted,
                      const CalibrationMachine& machine);

}  // namespace tilewright
