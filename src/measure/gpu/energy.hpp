// Time and joules of launches. Under a load without pauses a thread of its own polls the meter, which updates
// a few times a second, and the energy is taken between two updates (energy_edges.hpp).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "measure/energy_edges.hpp"
#include "measure/observer.hpp"

namespace tilewright {

// Time between two events of a stream: it covers the work between them and none of the host's.
class GpuTimer {
 public:
  GpuTimer(const Gpu& gpu, CUstream_st* stream) : stream_(stream), start_(gpu), stop_(gpu) {}

  // Returns the seconds that the stream spends on the work that `work` queues. Waits for it.
  template <class F>
  double seconds(F&& work) {
    start_.record(stream_);
    work();
    stop_.record(stream_);
    stop_.synchronize();
    return stop_.seconds_since(start_);
  }

 private:
  CUstream_st* stream_;
  GpuEvent start_, stop_;
};

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
