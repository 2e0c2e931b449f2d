// Turns of those that a case on the GPU compares: several launches between two events of the device, each on
// the next of the batches that rotate through its memory. Who takes part is others' business.
#pragma once

#include <functional>
#include <vector>

#include "measure/gpu_timer.hpp"

namespace tilewright::cli {

struct GpuContender {
  std::function<void(std::int64_t batch)> run;  // queues one launch on the timer's stream
  std::vector<double> samples;                  // seconds of one launch
  std::int64_t launches = 1;                    // in one turn
};

class GpuTurns {
 public:
  GpuTurns(GpuTimer& timer, std::int64_t batches) : timer_(timer), batches_(batches) {}

  std::int64_t next_batch() { return next_++ % batches_; }

  // Seconds of one launch.
  double turn(const GpuContender& contender) {
    const double seconds = timer_.seconds([&] {
      for (std::int64_t i = 0; i < contender.launches; ++i) contender.run(next_batch());
    });
    return seconds / double(contender.launches);
  }

  // How many launches a turn of it takes, from a first one; its samples are then those of one turn more.
  void screen(GpuContender& contender);

 private:
  GpuTimer& timer_;
  std::int64_t batches_, next_ = 0;
};

}  // namespace tilewright::cli
