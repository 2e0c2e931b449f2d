// The load, and the edges of the counter.
#include "measure/gpu_energy.hpp"

#include <algorithm>

#include "measure/clock.hpp"

namespace tilewright {
namespace {

// A load without pauses: one batch of launches is always queued behind the one that runs, so that the device
// does not wait while the host reads its meters.
class SteadyLoad {
 public:
  SteadyLoad(const Gpu& gpu, const GpuStream& stream, const std::function<void()>& launch, int count)
      : stream_(stream), launch_(launch), count_(count), ends_{GpuEvent(gpu), GpuEvent(gpu)} {
    queue();
    queue();
  }
  ~SteadyLoad() { stream_.synchronize(); }

  // Waits for the older batch and queues another; launches that have finished so far.
  double step() {
    ends_[queued_ % 2].synchronize();
    queue();
    return double(queued_ - 2) * count_;
  }

 private:
  void queue() {
    for (int i = 0; i < count_; ++i) launch_();
    ends_[queued_++ % 2].record(stream_.get());
  }

  const GpuStream& stream_;
  const std::function<void()>& launch_;
  int count_;
  std::size_t queued_ = 0;
  GpuEvent ends_[2];
};

}  // namespace

GpuEnergyWindow gpu_energy_window(const Gpu& gpu, const GpuStream& stream,
                                  const std::function<std::optional<double>()>& joules,
                                  const std::function<void()>& launch, double launch_s, double seconds) {
  constexpr double batch_s = 0.01;
  GpuEnergyWindow window;
  std::optional<double> last = joules(), first_j;
  if (!last) {
    window.fault = "the device reports no energy";
    return window;
  }
  SteadyLoad load(gpu, stream, launch, std::clamp(static_cast<int>(batch_s / launch_s), 1, 256));
  const double begin = wall_seconds(), heat_s = std::min(1.0, seconds / 4);
  double first = begin, launches_before = 0;
  while (wall_seconds() - begin < 3 * seconds + 2) {
    const double launches = load.step();
    const auto now_j = joules();
    if (!now_j || *now_j == *last) continue;
    last = now_j;
    const double now = wall_seconds();
    if (now - begin < heat_s) continue;
    if (!first_j) {
      first_j = now_j;
      first = now;
      launches_before = launches;
    } else if (now - first >= seconds) {
      window.seconds = now - first;
      window.joules = *now_j - *first_j;
      window.launches = launches - launches_before;
      return window;
    }
  }
  window.fault = "the meter did not move often enough";
  return window;
}

}  // namespace tilewright
