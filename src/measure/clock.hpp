// The clocks of measurements: CPU time of the calling thread, and wall time for jobs of several threads.
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
// Adds the wall time of f().
template <class F>
void add_wall_time(double& seconds, F&& f) {
  const double begin = wall_seconds();
  f();
  seconds += wall_seconds() - begin;
}

// The clock for measurements with this many threads, and its recorded name.
inline double measure_seconds(int threads) { return threads == 1 ? thread_cpu_seconds() : wall_seconds(); }
inline const char* clock_name(int threads) { return threads == 1 ? "thread_cpu" : "wall"; }

}  // namespace tilewright
