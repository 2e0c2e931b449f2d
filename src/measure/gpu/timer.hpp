// Time on a GPU between two events of a stream: it covers the work between them and none of the host's.
#pragma once

#include <functional>

#include "device/gpu/gpu.hpp"

namespace tilewright {

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

}  // namespace tilewright
