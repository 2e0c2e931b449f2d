// Time and joules of a launch under a load without pauses. The meter updates a few times a second: a thread
// of its own polls it, and the energy is taken between two updates (energy_edges.hpp).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "measure/energy_edges.hpp"
#include "measure/observer.hpp"

namespace tilewright {

// The durations of a load: first to warm up, then between two edges of the meter.
struct GpuLoadWindow {
  double heat_s = 0.4;
  double window_s = 1.2;
  std::size_t least_edges = 6;
};

// Results from the end of the warm-up on.
struct GpuLoad {
  std::vector<double> batches_s;  // of one launch, averaged over batches of some milliseconds
  double launches = 0;
  double mean_s = 0;    // of one launch, averaged over the whole window
  EnergyWindow energy;  // with its fault if there is none

  // Returns power times the time of a launch, which holds because the load is steady.
  double joules_per_launch() const { return energy.watts() * mean_s; }
};

// Runs `launch`, which queues one launch of about `launch_s` on the stream, until the window is full.
// `joules` reads the meter and returns nothing if the reading fails; if it fails or never changes, the window
// ends by the clock and has a time only. `observer`, if any, is called on the meter's thread.
GpuLoad run_steadily(const Gpu& gpu, const GpuStream& stream, const std::function<void()>& launch,
                     double launch_s, const GpuLoadWindow& window,
                     const std::function<std::optional<double>()>& joules, Observer* observer = nullptr);

}  // namespace tilewright
