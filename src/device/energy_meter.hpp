// Energy meters of the machine. An absent or unreadable meter is reported with the reason; a missing reading
// is never 0 joules. Each says what it covers; readings of two meters are not added silently.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tilewright/types.hpp"

namespace tilewright {

// The part of the machine whose energy a meter counts: all CPU packages, or the one GPU that `uuid` names.
struct EnergyCoverage {
  Location location = Location::host;
  std::string uuid{};  // of the GPU; "" for the CPU packages
  int packages = 0;    // number of CPU packages; 0 for a GPU

  std::string text() const;  // "2 CPU packages", "GPU GPU-1234..."
};

class EnergyMeter {
 public:
  virtual ~EnergyMeter() = default;
  virtual std::string name() const = 0;
  virtual EnergyCoverage covers() const = 0;
  // Returns the joules since a fixed moment. Throws Error(io) when a reading fails.
  virtual double joules() = 0;
  // The shortest interval whose difference is meaningful: many updates of the counter.
  virtual double shortest_s() const = 0;
};

struct EnergyMeters {
  std::vector<std::unique_ptr<EnergyMeter>> meters;
  std::vector<std::string> declined;  // "rapl: ..." for each kind that did not answer

  // Returns the reasons in one sentence, for callers that need energy.
  std::string why_none() const;

  // The meter of the CPU packages for the host, of the GPU `uuid` for the device; null if there is none.
  EnergyMeter* meter_of(Location location, const std::string& uuid = "") const;
  // Likewise, but throws Error(unsupported) naming the objective, the place and the reasons.
  EnergyMeter& required(const std::string& objective, Location location, const std::string& uuid = "") const;
};

// Finds the CPU packages through RAPL (the powercap tree under `sysfs`).
EnergyMeters find_energy_meters(const std::string& sysfs = "/sys");

}  // namespace tilewright
