// Observers watch a stretch of work: told before it, now and then during it and after it, each then reports
// what it saw under its own keys. Energy, clocks and temperatures are observers; times are what turns are
// measured by, and right or wrong is settled before. Which work is observed is the caller's business.
#pragma once

#include <functional>
#include <memory>
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
  // Adds its keys. What could not be seen is null, with `<key>_note` saying why; never 0.
  virtual void report(nlohmann::json& metrics) const = 0;
};

// `energy_j` and `watts` of a meter, and in `energy_of` what it covers; null when there is none, with its
// reason, or when the stretch was too short for it.
class EnergyObserver : public Observer {
 public:
  explicit EnergyObserver(EnergyMeter* meter, std::string why_none = "no energy meter");
  void before() override;
  void after() override;
  void report(nlohmann::json& metrics) const override;
  // Why there is no reading of the last stretch; "" when there is.
  const std::string& fault() const { return note_; }
  // Of the last stretch. Throw Error(io) with the reason when there is no reading.
  double joules() const;
  double watts() const { return joules() / seconds_; }

 private:
  EnergyMeter* meter_;
  std::string note_;
  double begin_j_ = 0, begin_s_ = 0, joules_ = 0, seconds_ = 0;
};

// A number that the operating system shows in a file under /sys, read before, during and after: the smallest
// and the largest are reported as `<key>_low` and `<key>_high`.
class SysfsObserver : public Observer {
 public:
  SysfsObserver(std::string key, std::string path, double scale);
  void before() override;
  void during() override { look(); }
  void after() override { look(); }
  void report(nlohmann::json& metrics) const override;

 private:
  void look();
  std::string key_, path_;
  double scale_, low_ = 0, high_ = 0;
  bool seen_ = false;
};

// The clock of the first CPU in MHz, and the hottest thermal zone's temperature in degrees Celsius.
std::unique_ptr<Observer> clock_observer(const std::string& sysfs = "/sys");
std::unique_ptr<Observer> temperature_observer(const std::string& sysfs = "/sys");

// Runs `work` once between before() and after() of all of them. The first named is told last before the work
// and first after it, so a clock named first times nothing of the others. `work` is given what to call now
// and then.
void observe(const std::vector<Observer*>& observers,
             const std::function<void(const std::function<void()>& during)>& work);

// Runs `work` once, which is given what to call now and then, and tells its energy by the meter of the CPU's
// packages, clocks and temperatures.
nlohmann::json watch_job(const std::function<void(const std::function<void()>&)>& work);

// Energy under its own keys, the rest among the metrics. Of what GPUs took beside the packages the meter sees
// nothing, so that of such jobs no energy is told.
void add_observed(nlohmann::json& row, nlohmann::json seen, double flops, bool with_gpus);

}  // namespace tilewright
