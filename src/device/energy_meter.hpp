// Energy meters of the machine behind one interface, and the search for them. A meter that is absent or may
// not be read is named with the reason; nothing here ever returns 0 joules in place of a reading. Each meter
// says which part of the machine it covers: what a kernel takes is asked of the meter of where it runs, and
// the readings of two meters are never added up unsaid.
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
  int packages = 0;    // how many, for the CPU

  std::string text() const;  // "2 CPU packages", "GPU GPU-1234..."
};

class EnergyMeter {
 public:
  virtual ~EnergyMeter() = default;
  virtual std::string name() const = 0;
  virtual EnergyCoverage covers() const = 0;
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

  // The meter of where a problem runs: of the CPU packages for problems on the host, of the GPU `uuid` for
  // those on the device. Null when none of them covers that.
  EnergyMeter* meter_of(Location location, const std::string& uuid = "") const;
  // The same, or Error(unsupported) naming the objective, the place and the reasons.
  EnergyMeter& required(const std::string& objective, Location location, const std::string& uuid = "") const;
};

// CPU packages through RAPL (the powercap tree under `sysfs`).
EnergyMeters find_energy_meters(const std::string& sysfs = "/sys");

}  // namespace tilewright
