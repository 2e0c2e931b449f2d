// The two clocks of every measurement: CPU time of the calling thread, which other programs on the machine
// disturb little, and wall time, which alone is meaningful when several threads work on one job.
#pragma once

#include <time.h>

namespace tilewright {

inline double clock_seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
inline double thread_cpu_seconds() { return clock_seconds(CLOCK_THREAD_CPUTIME_ID); }
inline double wall_seconds() { return clock_seconds(CLOCK_MONOTONIC); }

// Returns the seconds of the clock for a measurement with this many threads; the other function returns its
// recorded name.
inline double measure_seconds(int threads) { return threads == 1 ? thread_cpu_seconds() : wall_seconds(); }
inline const char* clock_name(int threads) { return threads == 1 ? "thread_cpu" : "wall"; }

}  // namespace tilewright
