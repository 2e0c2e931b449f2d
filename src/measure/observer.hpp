// Observers of energy, clocks and temperatures: they are called before, during and after a period of work,
// and each then reports its observations under its own keys.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "device/energy_meter.hpp"

namespace tilewright {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void before() {}
  virtual void during() {}
  virtual void after() {}
  // Adds its keys. Missing observations are null, with the reason in `<key>_note`; never 0.
  virtual void report(nlohmann::json& metrics) const = 0;
};

// Reports a meter's `energy_j` and `watts`, and its coverage in `energy_of`; null, with the reason, if there
// is no meter or the period was too short for it.
class EnergyObserver : public Observer {
 public:
  explicit EnergyObserver(EnergyMeter* meter, std::string why_none = "no energy meter");
  void before() override;
  void after() override;
  void report(nlohmann::json& metrics) const override;
  // Returns why there is no reading of the last period; "" if there is one.
  const std::string& fault() const { return note_; }
  // Return the energy and power of the last period. Throw Error(io) with the reason if there is no reading.
  double joules() const;
  double watts() const { return joules() / seconds_; }

 private:
  EnergyMeter* meter_;
  std::string note_;
  double begin_j_ = 0, begin_s_ = 0, joules_ = 0, seconds_ = 0;
};

// The extremes and the mean of the readings of a number.
template <class T>
struct ObservedRange {
  std::optional<T> low, high;
  double sum = 0;
  int count = 0;

  void take(T value) {
    low = std::min(low.value_or(value), value);
    high = std::max(high.value_or(value), value);
    sum += value;
    ++count;
  }
  // Adds `<key>_low` and `<key>_high`; null, with the note, if there was no reading.
  void report(nlohmann::json& metrics, const std::string& key, const std::string& note) const {
    metrics[key + "_low"] = low ? nlohmann::json(*low) : nlohmann::json();
    metrics[key + "_high"] = high ? nlohmann::json(*high) : nlohmann::json();
    if (!low) metrics[key + "_note"] = note;
  }
};

// Reads a file under /sys before, during and after the work; reports `<key>_low` and `<key>_high`.
class SysfsObserver : public Observer {
 public:
  SysfsObserver(std::string key, std::string path, double scale);
  void before() override;
  void during() override { read(); }
  void after() override { read(); }
  void report(nlohmann::json& metrics) const override;

 private:
  void read();

  std::string key_, path_;
  double scale_;
  ObservedRange<double> range_;
};

// Observe the clock of the first CPU in MHz, and the hottest thermal zone's temperature in degrees Celsius.
std::unique_ptr<Observer> clock_observer(const std::string& sysfs = "/sys");
std::unique_ptr<Observer> temperature_observer(const std::string& sysfs = "/sys");

// Runs `work` once between before() and after() of all observers. The first one's before() is called last and
// its after() first, so that a clock in first place does not time the others. `work` receives a function to
// call from time to time.
void observe(const std::vector<Observer*>& observers,
             const std::function<void(const std::function<void()>& during)>& work);

// Runs `work` once, which receives a function to call from time to time, and returns its energy by the meter
// of the CPU's packages, with clocks and temperatures.
nlohmann::json watch_job(const std::function<void(const std::function<void()>&)>& work);

// Adds the energy under its own keys and the rest to the metrics. The meter does not cover GPUs beside the
// packages, so no energy is reported for jobs that use them.
void add_observed(nlohmann::json& row, nlohmann::json seen, double flops, bool with_gpus);

}  // namespace tilewright
