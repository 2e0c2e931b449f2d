// A load on a GPU without pauses: some batches of launches are always queued behind the one that runs, so
// that the device does not wait while the host looks at its meters. It times nothing itself.
#pragma once

#include <deque>
#include <functional>

#include "device/gpu/gpu.hpp"

namespace tilewright {

class GpuSteadyLoad {
 public:
  // Batches of `count` launches, `ahead` of them queued at any time.
  GpuSteadyLoad(const Gpu& gpu, const GpuStream& stream, std::function<void()> launch, int count,
                std::size_t ahead = 3)
      : stream_(stream), launch_(std::move(launch)), count_(count) {
    while (ends_.size() < ahead) {
      ends_.emplace_back(gpu);
      queue();
    }
  }
  ~GpuSteadyLoad() {
    try {
      stream_.synchronize();
    } catch (...) {  // a launch that failed; whoever waits for the device next is told
    }
  }
  GpuSteadyLoad(const GpuSteadyLoad&) = delete;
  GpuSteadyLoad& operator=(const GpuSteadyLoad&) = delete;

  // Waits for the oldest batch and queues another; launches that have finished so far.
  double step() {
    ends_[queued_ % ends_.size()].synchronize();
    queue();
    return double(queued_ - ends_.size()) * count_;
  }

 private:
  void queue() {
    for (int i = 0; i < count_; ++i) launch_();
    ends_[queued_++ % ends_.size()].record(stream_.get());
  }

  const GpuStream& stream_;
  std::function<void()> launch_;
  int count_;
  std::size_t queued_ = 0;
  std::deque<GpuEvent> ends_;
};

}  // namespace tilewright
