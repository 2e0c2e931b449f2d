// Runs the load and computes the energy between edges.
#include "measure/gpu/energy.hpp"

#include <algorithm>
#include <atomic>
#include <deque>

#include "measure/clock.hpp"

namespace tilewright {
namespace {

// A load without pauses: some batches of launches are always queued behind the running one, so that the
// device does not wait while the host reads its meters.
class SteadyLoad {
 public:
  SteadyLoad(const Gpu& gpu, const GpuStream& stream, const std::function<void()>& launch, int count)
      : stream_(stream), launch_(launch), count_(count) {
    while (ends_.size() < batches_ahead) {
      ends_.emplace_back(gpu);
      queue();
    }
  }
  ~SteadyLoad() {
    try {
      stream_.synchronize();
    } catch (...) {  // a failed launch; the next wait for the device reports it
    }
  }
  SteadyLoad& operator=(SteadyLoad&&) = delete;

  // Waits for the oldest batch and queues another.
  void step() {
    ends_[queued_ % ends_.size()].synchronize();
    queue();
  }

 private:
  static constexpr std::size_t batches_ahead = 3;

  void queue() {
    for (int i = 0; i < count_; ++i) launch_();
    ends_[queued_++ % ends_.size()].record(stream_.get());
  }

  const GpuStream& stream_;
  const std::function<void()>& launch_;
  int count_;
  std::size_t queued_ = 0;
  std::deque<GpuEvent> ends_;
};

}  // namespace

GpuLoad run_steadily(const Gpu& gpu, const GpuStream& stream, const std::function<void()>& launch,
                     double launch_s, const GpuLoadWindow& window,
                     const std::function<std::optional<double>()>& joules, Observer* observer) {
  // Batches take some milliseconds, so that the host polls often and the device never waits for it.
  const int count = static_cast<int>(std::clamp(0.005 / launch_s, 1.0, 256.0));
  GpuLoad result;
  SteadyLoad load(gpu, stream, launch, count);
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
