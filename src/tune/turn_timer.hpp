// Turns of anything that works on batches, on the calling thread, whose CPU time is the clock: the same batch
// again and again when hot, the next batches of a ring when cold. What a turn runs is the caller's business.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "measure/clock.hpp"

namespace tilewright {

class TurnTimer {
 public:
  // `problems` in each of the `batches`.
  TurnTimer(bool hot, std::int64_t batches, std::int64_t problems)
      : hot_(hot), batches_(batches), problems_(problems) {}

  struct Turn {
    double seconds = 0;   // per problem, CPU time of the calling thread
    double problems = 0;  // that were timed
  };
  // About `turn_s` of run(batch), after a warm-up where data is hot.
  template <class Run>
  Turn time(Run&& run, double turn_s) {
    return hot_ ? time_hot(run, turn_s) : time_cold(run, turn_s);
  }

 private:
  template <class Run>
  Turn time_hot(Run& run, double turn_s) {
    run(0);
    std::int64_t loops = 1;
    double seconds = loop(run, loops);
    // A first look at its speed, then as many runs as fill the turn.
    while (seconds < turn_s / 8) seconds = loop(run, loops *= 4);
    loops = std::max<std::int64_t>(1, std::llround(double(loops) * turn_s / seconds));
    const double problems = double(loops * problems_);
    return {loop(run, loops) / problems, problems};
  }

  template <class Run>
  static double loop(Run& run, std::int64_t loops) {
    const double begin = thread_cpu_seconds();
    for (std::int64_t i = 0; i < loops; ++i) run(0);
    return thread_cpu_seconds() - begin;
  }

  template <class Run>
  Turn time_cold(Run& run, double turn_s) {
    double elapsed = 0;
    std::int64_t runs = 0;
    while (runs == 0 || elapsed < turn_s) {
      const std::int64_t batch = next_++ % batches_;
      const double begin = thread_cpu_seconds();
      run(batch);
      elapsed += thread_cpu_seconds() - begin;
      ++runs;
    }
    const double problems = double(runs * problems_);
    return {elapsed / problems, problems};
  }

  bool hot_;
  std::int64_t batches_, problems_, next_ = 0;
};

}  // namespace tilewright
