// Runs the load and computes the energy between edges.
#include "measure/gpu/energy.hpp"

#include <algorithm>
#include <atomic>

#include "measure/clock.hpp"
#include "measure/gpu/steady_load.hpp"

namespace tilewright {

GpuLoad run_steadily(const Gpu& gpu, const GpuStream& stream, const std::function<void()>& launch,
                     double launch_s, const GpuLoadWindow& window,
                     const std::function<std::optional<double>()>& joules, Observer* observer) {
  // Batches take some milliseconds, so that the host polls often and the device never waits for it.
  const int count = static_cast<int>(std::clamp(0.005 / launch_s, 1.0, 256.0));
  GpuLoad result;
  GpuSteadyLoad load(gpu, stream, launch, count);
  std::atomic<bool> warm = false;
  std::optional<EnergyPoll> poll(std::in_place, joules, [&] {
    if (warm && observer != nullptr) observer->during();
  });
  for (const double begin = wall_seconds(); wall_seconds() - begin < window.heat_s;) load.step();
  if (observer != nullptr) observer->before();
  warm = true;
  const double begin = wall_seconds();
  // The window needs one edge more than it has tenths of a second, since it begins with the first.
  const double longest = 2 * window.window_s + 0.5;
  double last = begin;
  for (;;) {
    load.step();
    const double now = wall_seconds();
    result.batches_s.push_back((now - last) / count);
    last = now;
    const EnergyWindow so_far = energy_between_edges(poll->seen(), begin, window.least_edges);
    const bool full = so_far.fault.empty() && so_far.seconds() >= window.window_s;
    const bool silent = now - begin >= window.window_s && poll->edges_since(begin) == 0;
    if (full || silent || now - begin >= longest) break;
  }
  result.energy = energy_between_edges(poll->seen(), begin, window.least_edges);
  poll.reset();  // stop its thread, which uses the observer
  result.launches = double(result.batches_s.size()) * count;
  result.mean_s = (last - begin) / result.launches;
  return result;
}

}  // namespace tilewright
