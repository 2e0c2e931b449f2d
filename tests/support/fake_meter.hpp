// An energy meter whose counter the test sets.
#pragma once

#include "device/energy_meter.hpp"

namespace tilewright {

class FakeMeter : public EnergyMeter {
 public:
  explicit FakeMeter(EnergyCoverage what = {Location::host, "", 1}) : covered(std::move(what)) {}

  std::string name() const override { return "fake"; }
  EnergyCoverage covers() const override { return covered; }
  double joules() override { return at += step; }
  double shortest_s() const override { return shortest; }

  EnergyCoverage covered;
  double at = 5, step = 3, shortest = 0;
};

}  // namespace tilewright
