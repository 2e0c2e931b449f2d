// Implements the observers. Each reads its source when called and keeps differences or extremes.
#include "measure/observer.hpp"

#include <fmt/format.h>

#include <fstream>

#include "core/folder.hpp"
#include "measure/clock.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

EnergyObserver::EnergyObserver(EnergyMeter* meter, std::string why_none)
    : meter_(meter), note_(meter == nullptr ? std::move(why_none) : "nothing was observed yet") {}

void EnergyObserver::before() {
  if (meter_ == nullptr) return;
  begin_s_ = wall_seconds();
  begin_j_ = meter_->joules();
}
void EnergyObserver::after() {
  if (meter_ == nullptr) return;
  joules_ = meter_->joules() - begin_j_;
  seconds_ = wall_seconds() - begin_s_;
  note_.clear();
  if (seconds_ < meter_->shortest_s())
    note_ = fmt::format("{:.3g} s are too short for {}, which needs {:.3g} s", seconds_, meter_->name(),
                        meter_->shortest_s());
  else if (!(joules_ > 0))
    note_ = fmt::format("{} did not move in {:.3g} s", meter_->name(), seconds_);
}
double EnergyObserver::joules() const {
  if (!note_.empty()) throw Error(ErrorCode::io, "energy", "no energy was measured: " + note_);
  return joules_;
}
void EnergyObserver::report(nlohmann::json& metrics) const {
  metrics["energy_j"] = note_.empty() ? nlohmann::json(joules_) : nlohmann::json();
  metrics["watts"] = note_.empty() ? nlohmann::json(joules_ / seconds_) : nlohmann::json();
  if (meter_ != nullptr) metrics["energy_of"] = meter_->covers().text();
  if (!note_.empty()) metrics["energy_note"] = note_;
}

SysfsObserver::SysfsObserver(std::string key, std::string path, double scale)
    : key_(std::move(key)), path_(std::move(path)), scale_(scale) {}

void SysfsObserver::before() {
  range_ = {};
  read();
}
void SysfsObserver::read() {
  std::ifstream file(path_);
  double value = 0;
  if (file >> value) range_.take(value * scale_);
}
void SysfsObserver::report(nlohmann::json& metrics) const {
  range_.report(
      metrics, key_,
      path_.empty() ? "the operating system shows none" : fmt::format("'{}' cannot be read", path_));
}

std::unique_ptr<Observer> clock_observer(const std::string& sysfs) {
  return std::make_unique<SysfsObserver>("clock_mhz",
                                         sysfs + "/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", 1e-3);
}

std::unique_ptr<Observer> temperature_observer(const std::string& sysfs) {
  std::string hottest;
  double most = 0;
  for (const std::string& zone : entries_of(sysfs + "/class/thermal")) {
    const std::string reading = zone + "/temp";
    std::ifstream file(reading);
    double value = 0;
    if (!(file >> value) || (!hottest.empty() && value <= most)) continue;
    hottest = reading;
    most = value;
  }
  return std::make_unique<SysfsObserver>("temperature_c", hottest, 1e-3);
}

void observe(const std::vector<Observer*>& observers,
             const std::function<void(const std::function<void()>& during)>& work) {
  for (auto it = observers.rbegin(); it != observers.rend(); ++it) (*it)->before();
  work([&] {
    for (Observer* observer : observers) observer->during();
  });
  for (Observer* observer : observers) observer->after();
}

nlohmann::json watch_job(const std::function<void(const std::function<void()>&)>& work) {
  const EnergyMeters meters = find_energy_meters();
  EnergyObserver energy(meters.meter_of(Location::host), meters.why_none());
  const auto clock = clock_observer(), temperature = temperature_observer();
  observe({&energy, clock.get(), temperature.get()}, work);
  nlohmann::json seen = nlohmann::json::object();
  energy.report(seen);
  clock->report(seen);
  temperature->report(seen);
  return seen;
}

void add_observed(nlohmann::json& row, nlohmann::json seen, double flops, bool with_gpus) {
  if (with_gpus) {
    seen["energy_j"] = seen["watts"] = nullptr;
    seen["energy_note"] = "no meter covers CPU and GPUs together";
    seen.erase("energy_of");
  }
  for (const char* key : {"energy_j", "watts", "energy_note"}) {
    if (seen.contains(key)) row[key] = seen[key];
    seen.erase(key);
  }
  row["gflops_per_watt"] = nullptr;
  if (const auto& joules = row["energy_j"]; joules.is_number() && joules.get<double>() > 0)
    row["gflops_per_watt"] = flops / joules.get<double>() * 1e-9;
  row["metrics"].update(seen);
}

}  // namespace tilewright
