// Measures energy by windows and by single runs.
#include "bench/host_energy.hpp"

#include <algorithm>
#include <optional>

#include "measure/clock.hpp"
#include "measure/estimate.hpp"
#include "measure/observer.hpp"

namespace tilewright::bench {
namespace {

constexpr double least_window_s = 0.25;

void keep(Contender& one, const EnergyObserver& energy, double runs) {
  one.energy_note = energy.fault();
  if (!one.energy_note.empty()) return;
  one.weighings.push_back(energy.joules() / runs);
  one.joules = median(one.weighings);
  one.watts = energy.watts();
}

}  // namespace

void HostEnergy::weigh(Contender& one, const std::function<double()>& turn) const {
  EnergyMeter* const meter = meters_.meter_of(Location::host);
  EnergyObserver energy(meter, meters_.why_none());
  double runs = 0;
  const auto hold = [&] {
    const double window_s = std::max(least_window_s, meter->shortest_s()), begin = wall_seconds();
    energy.before();
    do runs += turn();
    while (wall_seconds() - begin < window_s);
    energy.after();
  };
  try {
    if (meter != nullptr) hold();
    keep(one, energy, runs);
  } catch (const Error& error) {
    if (error.argument() != "energy") throw;  // an error of the contender itself
    one.energy_note = error.what();
  }
}

double HostEnergy::watch(Contender& one, bool with_gpus, const std::function<double()>& turn) const {
  if (with_gpus) {
    one.energy_note = "no meter covers CPU and GPUs together";
    return turn();
  }
  EnergyObserver energy(meters_.meter_of(Location::host), meters_.why_none());
  std::optional<double> seconds;
  try {
    energy.before();
    seconds = turn();
    energy.after();
    keep(one, energy, 1);
  } catch (const Error& error) {
    if (error.argument() != "energy") throw;
    one.energy_note = error.what();
  }
  return seconds ? *seconds : turn();
}

std::string HostEnergy::why_none(const std::string& otherwise) const {
  return meters_.meter_of(Location::host) == nullptr ? meters_.why_none() : otherwise;
}

}  // namespace tilewright::bench
