// Work of a call that is shared out among threads: contiguous ranges, or indices one at a time. The team they
// are shared out to is device/team.hpp's.
#pragma once

#include <omp.h>

#include <cstdint>
#include <utility>

#include "device/team.hpp"

namespace tilewright {

// How many threads a call may use: 1 inside a team or the caller's parallel region, else what was asked for
// or OpenMP's default.
inline int allowed_threads(int asked) {
  if (is_in_team()) return 1;
  return usable_threads(asked > 0 ? asked : omp_get_max_threads());
}

// f(first, count) over [0, total) cut into one contiguous run per thread; run borders are multiples of
// `multiple`.
template <class F>
void parallel_ranges(int threads, std::int64_t total, std::int64_t multiple, F&& f) {
  const std::int64_t units = (total - 1) / multiple + 1;
  if (threads > units) threads = static_cast<int>(units);
  if (threads <= 1) {
    f(std::int64_t(0), total);
    return;
  }
  run_team(threads, [&](std::int64_t thread, std::int64_t thread_count) {
    // units * thread may pass 2^63, so the remainder is dealt out instead.
    const std::int64_t share = units / thread_count, rest = units % thread_count;
    const std::int64_t first = (share * thread + (thread < rest ? thread : rest)) * multiple;
    const std::int64_t count = (share + (thread < rest ? 1 : 0)) * multiple;
    if (count > 0 && first < total) f(first, count < total - first ? count : total - first);
  });
}

// f(index) for each index in [0, count), handed out one at a time.
template <class F>
void parallel_each(int threads, std::int64_t count, F&& f) {
  run_each(threads, count, std::forward<F>(f));
}

}  // namespace tilewright
