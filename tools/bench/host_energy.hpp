// Measures joules of contenders on the host by the meter of the CPU packages. If the meter does not answer,
// gives the reason in place of a number.
#pragma once

#include <functional>
#include <string>

#include "bench/contender.hpp"
#include "device/energy_meter.hpp"

namespace tilewright::bench {

class HostEnergy {
 public:
  explicit HostEnergy(const std::string& sysfs = "/sys") : meters_(find_energy_meters(sysfs)) {}

  // Repeats turn(), which returns its number of runs, for as long as the meter needs, and keeps the joules of
  // one run in the contender, or the reason why there are none.
  void weigh(Contender& one, const std::function<double()>& turn) const;
  // Keeps the joules of one run while it is timed, and returns the result of `turn`, its seconds. Keeps
  // nothing if GPUs work: no meter covers both.
  double watch(Contender& one, bool with_gpus, const std::function<double()>& turn) const;
  // Returns why a family that measures no energy has none: there is no meter, or else `otherwise`.
  std::string why_none(const std::string& otherwise) const;

 private:
  EnergyMeters meters_;
};

}  // namespace tilewright::bench
