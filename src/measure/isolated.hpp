// Isolated calls, as programs make them: each is timed alone, after a gap of random length in which its
// thread did other work. In a loop of calls, by contrast, code, data and predictors are as the last call left
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "core/estimate.hpp"
#include "measure/clock.hpp"
#include "measure/operands.hpp"

namespace tilewright {

// The work of a program between two calls: it changes numbers at random places of a buffer larger than the
// second-level cache, by functions that together exceed a first-level instruction cache, in random order. The
// core never sleeps, so that calls do not measure how it wakes up, but it uses no vector unit.
class OtherWork {
 public:
  OtherWork();
  void run(double seconds);

 private:
  std::vector<std::uint64_t> words_;  // a power of two
  std::uint64_t random_ = 1;
};

// The clock of calls and what fills the gaps between them; tests replace both.
struct GapWorld {
  std::function<double()> now = wall_seconds;  // CPU time takes a system call to read
  std::function<void(double seconds)> work = [work = OtherWork()](double seconds) mutable {
    work.run(seconds);
  };
};

class IsolatedCalls {
 public:
  // Gaps are spread evenly over their orders of magnitude.
  static constexpr double shortest_gap_s = 20e-6, longest_gap_s = 2e-3;
  static constexpr int least_calls = 7;  // of a turn

  explicit IsolatedCalls(GapWorld world = {}) : world_(std::move(world)) {}

  // Returns the median of seconds_of_one() over calls after a gap each: as many as `turn_s` has room for, but
  // not fewer than least_calls.
  template <class Seconds>
  double median_of(Seconds&& seconds_of_one, double turn_s) {
    std::vector<double> seconds(std::size_t(calls_in(turn_s)));
    for (double& one : seconds) {
      world_.work(gap_s());
      one = seconds_of_one();
    }
    return median(std::move(seconds));
  }

  // Returns the median time of run(batch) for batches of the set that are drawn at random. Hot operands are
  // read, and C is written, between the gap and the call, so that they lie where their residency says.
  template <class Run>
  double time(const OperandSet& set, Run&& run, double turn_s) {
    const bool hot = set.problem().residency != Residency::cold;
    return median_of(
        [&] {
          const auto batch = std::int64_t(random_() % std::uint64_t(set.batches()));
          if (hot) stream(set.streams(batch, 1), Stream::plain, 1);
          return seconds_of([&] { run(batch); });
        },
        turn_s);
  }

  static int calls_in(double turn_s);

 private:
  double gap_s();

  // Returns the time of run() without that of reading the clock, which is measured just before. The first
  // reading brings the clock's own code back into the caches.
  template <class Run>
  double seconds_of(Run&& run) const {
    (void)world_.now();
    const double before = world_.now(), begin = world_.now();
    run();
    const double end = world_.now();
    return std::max((end - begin) - (begin - before), least_s);
  }

  static constexpr double least_s = 1e-10;  // of a call; ratios need a positive time

  GapWorld world_;
  std::mt19937_64 random_{1};
};

}  // namespace tilewright
