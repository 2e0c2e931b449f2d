// Interleaved, paired timing: in every repetition each contender is timed once, in an order shuffled anew, so
// that whatever the machine does meanwhile (clock, neighbours, temperature) meets all of them alike.
// Implementations and the streaming and multiply-add loops that bound them are contenders of the same kind.
// It times what it is given; whether results are right was settled before.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/estimate.hpp"

namespace tilewright {

struct Contender {
  std::string name;
  // Runs once on batch `index`. Cold: any batch of the ring, all threads within the call. Hot: the batch of
  // the calling thread, on that thread alone.
  std::function<void(std::int64_t index)> run;
  // Contenders with the same non-negative number compete: after the screening repetitions those clearly
  // behind the best of them are timed no more and keep the samples they have. -1: always timed.
  int rivals = -1;
  // Repeated on one batch even in a cold schedule (multiply-add loops).
  bool always_hot = false;
};

struct TimingSchedule {
  int threads = 1;
  bool hot = false;
  std::int64_t batches = 1;           // in the ring (cold)
  std::int64_t batches_per_turn = 1;  // timed together in one turn (cold)
  int repetitions = 11;
  int screening = 3;         // repetitions in which all take part
  double hot_turn_s = 1e-3;  // a hot turn repeats its batch for at least this long
  double drop_factor = 1.2;  // further behind the best rival than this: dropped after screening
};

// Seconds per batch of each contender, in the order given. With one thread the clock is the thread's CPU
// time, else wall time. Hot schedules with several threads run one parallel region per turn in which every
// thread repeats its own batch; the seconds are those of one batch per thread.
std::vector<Estimate> benchmark(const std::vector<Contender>& contenders, const TimingSchedule& schedule);

}  // namespace tilewright
