// Energy meters of the machine behind one interface, and the search for them. A meter that is absent or may
// not be read is named with the reason; nothing here ever returns 0 joules in place of a reading.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

class EnergyMeter {
 public:
  virtual ~EnergyMeter() = default;
  virtual std::string name() const = 0;
  // Joules since some fixed moment; only differences mean anything. Throws Error(io) when a reading fails.
  virtual double joules() = 0;
  // How long a stretch has to be for its difference to mean something: many updates of the counter.
  virtual double shortest_s() const = 0;
};

struct EnergyMeters {
  std::vector<std::unique_ptr<EnergyMeter>> meters;
  std::vector<std::string> declined;  // "rapl: ..." for each kind that did not answer

  // The reasons in one sentence, for whoever asked for energy in vain.
  std::string why_none() const;
};

// CPU packages through RAPL (the powercap tree under `sysfs`).
EnergyMeters find_energy_meters(const std::string& sysfs = "/sys");

}  // namespace tilewright
