// Turns of those that a case on the GPU compares: several launches between two events of the device, each on
// the next of the batches that rotate through its memory. Who takes part is others' business.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "measure/gpu/timer.hpp"

namespace tilewright::cli {

struct GpuContender {
  std::function<void(std::int64_t batch)> run;  // queues one launch on the timer's stream
  std::vector<double> samples;                  // seconds of one launch
  std::int64_t launches = 1;                    // in one turn
};

// How long a turn is, and how long the same contender runs untimed before it.
struct GpuPace {
  double turn_s = 2e-4, untimed_s = 0;
  std::int64_t most_launches = 512;
};
// Bound by memory: what ran before does not matter.
constexpr GpuPace small_gpu_pace{};
// At the card's power limit a short turn says what ran before it: the clock follows within tens of
// milliseconds.
constexpr GpuPace large_gpu_pace{.turn_s = 0.05, .untimed_s = 0.05, .most_launches = 8192};

class GpuTurns {
 public:
  GpuTurns(GpuTimer& timer, std::int64_t batches, GpuPace pace = small_gpu_pace)
      : timer_(timer), batches_(batches), pace_(pace) {}

  std::int64_t next_batch() { return next_++ % batches_; }

  // Seconds of one launch.
  double turn(const GpuContender& contender);

  // How many launches a turn of it takes, from a first one; its samples are then those of one turn more.
  void screen(GpuContender& contender);

  // An order of `count` contenders for the next round. In as many rounds each is first once, which follows
  // what lies between rounds, and who follows whom is drawn anew after these.
  const std::vector<std::size_t>& order(std::size_t count);

 private:
  // Seconds that so many launches take together.
  double launched(const GpuContender& contender, std::int64_t launches);

  GpuTimer& timer_;
  std::int64_t batches_, next_ = 0;
  GpuPace pace_;
  std::vector<std::size_t> order_;
  std::size_t round_ = 0;
  std::mt19937 random_{5};  // any: orders are the same in every run
};

}  // namespace tilewright::cli
