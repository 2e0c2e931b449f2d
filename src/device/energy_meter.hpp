// Energy meters of the machine behind one interface, and the search for them. A meter that is absent or may
// not be read is reported with the reason; a missing reading is never returned as 0 joules. Each meter says
// which part of the machine it covers. The energy of a kernel is read from the meter of the device that runs
// it, and readings of two meters are never added without saying so.
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
  // Returns the joules since some fixed moment; only differences are meaningful. Throws Error(io) when a
  // reading fails.
  virtual double joules() = 0;
  // The shortest interval whose difference is meaningful: many updates of the counter.
  virtual double shortest_s() const = 0;
};

struct EnergyMeters {
  std::vector<std::unique_ptr<EnergyMeter>> meters;
  std::vector<std::string> declined;  // "rapl: ..." for each kind that did not answer

  // Returns the reasons in one sentence, for callers that need energy.
  std::string why_none() const;

  // Returns the meter of the place where a problem runs: the CPU packages for problems on the host, the GPU
  // `uuid` for those on the device. Null if no meter covers that place.
  EnergyMeter* meter_of(Location location, const std::string& uuid = "") const;
  // Likewise, but throws Error(unsupported) naming the objective, the place and the reasons.
  EnergyMeter& required(const std::string& objective, Location location, const std::string& uuid = "") const;
};

// Finds the CPU packages through RAPL (the powercap tree under `sysfs`).
EnergyMeters find_energy_meters(const std::string& sysfs = "/sys");

}  // namespace tilewright
