// Joules of contenders on the host, by the meter of the CPU packages. A machine whose meter does not answer
// says why, in the place of a number.
#pragma once

#include <functional>
#include <string>

#include "bench/contender.hpp"
#include "device/energy_meter.hpp"

namespace tilewright::bench {

class HostEnergy {
 public:
  explicit HostEnergy(const std::string& sysfs = "/sys") : meters_(find_energy_meters(sysfs)) {}

  // Repeats turn(), which returns how many runs it made, for as long as the meter needs, and keeps the joules
  // of one run in the contender, or why there are none.
  void weigh(Contender& one, const std::function<double()>& turn) const;
  // Keeps what one run takes while it is timed, and returns what `turn` returns, its seconds. With GPUs at
  // work nothing is kept: no meter covers both.
  double watch(Contender& one, bool with_gpus, const std::function<double()>& turn) const;
  // Why a family that weighs nothing has no energy: there is no meter, or else this.
  std::string why_none(const std::string& otherwise) const;

 private:
  EnergyMeters meters_;
};

}  // namespace tilewright::bench
