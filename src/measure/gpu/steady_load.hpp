// A load on a GPU without pauses: some batches of launches are always queued behind the running one, so that
// the device does not wait while the host reads its meters. It times nothing itself.
#pragma once

#include <deque>
#include <functional>

#include "device/gpu/gpu.hpp"

namespace tilewright {

class GpuSteadyLoad {
 public:
  // The load has batches of `count` launches, `ahead` of which are queued at any time.
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
    } catch (...) {  // a failed launch; the next wait for the device reports it
    }
  }
  GpuSteadyLoad(const GpuSteadyLoad&) = delete;
  GpuSteadyLoad& operator=(const GpuSteadyLoad&) = delete;

  // Waits for the oldest batch and queues another; returns the number of launches finished so far.
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
