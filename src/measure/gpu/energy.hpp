// Time and joules of a launch under a load without pauses. The meter moves a few times a second: it is looked
// at on a thread of its own, and what counts lies between two of its moves (energy_edges.hpp).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "measure/energy_edges.hpp"
#include "measure/observer.hpp"

namespace tilewright {

// How long a load runs: first to heat up, then between two edges of the meter.
struct GpuLoadWindow {
  double heat_s = 0.4;
  double window_s = 1.2;
  std::size_t least_edges = 6;
};

// What it took from the end of heating up on.
struct GpuLoad {
  std::vector<double> batches_s;  // of one launch, from batches of some milliseconds
  double launches = 0;
  double mean_s = 0;    // of one launch, all of the window
  EnergyWindow energy;  // with its fault where there is none

  // The load is steady: its power times the time of a launch.
  double joules_per_launch() const { return energy.watts() * mean_s; }
};

// Runs `launch`, which queues one on the stream and takes about `launch_s`, until the window is full.
// `joules` reads the meter, empty where it does not answer; where it does not, or stands still, the window
// ends by the clock and has a time only. `observer`, if any, is asked from the meter's thread.
GpuLoad run_steadily(const Gpu& gpu, const GpuStream& stream, const std::function<void()>& launch,
                     double launch_s, const GpuLoadWindow& window,
                     const std::function<std::optional<double>()>& joules, Observer* observer = nullptr);

}  // namespace tilewright
