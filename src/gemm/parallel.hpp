// Work of a call that is shared out among threads: how many threads it is worth, and how it is cut for them,
// into one range for each or into pieces that they take as they come. The team they form is
// device/team.hpp's.
#pragma once

#include <omp.h>

#include <algorithm>
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

// True if so many seconds of work on one thread pay a second one. A parallel region costs about 1.4 us while
// OpenMP's threads still spin from the last one and about 25 us when they have gone to sleep (2 cores, GCC's
// runtime). Unasked, a second thread must pay nearly always; a caller who names a thread count gets it as
// soon as it pays for spinning threads.
inline bool is_worth_threads(double work_s, int asked) { return work_s >= (asked > 1 ? 3e-6 : 20e-6); }

// How many threads a call with so much work gets.
inline int threads_for(double work_s, int asked) {
  return is_worth_threads(work_s, asked) ? allowed_threads(asked) : 1;
}

// Handing out a piece costs under 1 us: these are far above it.
inline constexpr double batch_piece_s = 20e-6;
// A piece of sums also sets up its arrays of addresses.
inline constexpr double sums_piece_s = 40e-6;
// One thread takes larger ones of several lists, whose C stay in its cache from list to list.
inline constexpr double sums_in_cache_s = 200e-6;

// Cuts work, which comes in its order, into pieces of at least so many seconds.
class PieceCutter {
 public:
  explicit PieceCutter(double piece_s) : piece_s_(piece_s) {}

  // True where the last piece has its work, so that another one may begin.
  bool is_full() const { return left_s_ <= 0; }
  void begin() { left_s_ = piece_s_; }
  // Adds to the piece as many of `count` problems of so many seconds as it takes, at least one. Returns how
  // many.
  std::int64_t take(std::int64_t count, double problem_s) {
    const std::int64_t taken = std::min(count, std::int64_t(std::max(left_s_, 0.0) / problem_s) + 1);
    add(double(taken) * problem_s);
    return taken;
  }
  void add(double seconds) { left_s_ -= seconds; }

 private:
  double piece_s_, left_s_ = 0;
};

struct IndexShare {
  std::int64_t first, count;
};

// The indices in [0, total) of one of the threads of a team; borders are multiples of `multiple`.
inline IndexShare share_of_thread(std::int64_t total, std::int64_t multiple, std::int64_t thread,
                                  std::int64_t thread_count) {
  const std::int64_t units = (total - 1) / multiple + 1;
  // units * thread may pass 2^63, so the remainder is dealt out instead.
  const std::int64_t share = units / thread_count, rest = units % thread_count;
  const std::int64_t first = (share * thread + std::min(thread, rest)) * multiple;
  const std::int64_t count = (share + (thread < rest ? 1 : 0)) * multiple;
  return {first, std::min(count, total - first)};
}

// f(first, count) over [0, total) cut into one contiguous run per thread; run borders are multiples of
// `multiple`.
template <class F>
void parallel_ranges(int threads, std::int64_t total, std::int64_t multiple, F&& f) {
  threads = int(std::min<std::int64_t>(threads, (total - 1) / multiple + 1));
  if (threads <= 1) {
    f(std::int64_t(0), total);
    return;
  }
  run_team(threads, [&](std::int64_t thread, std::int64_t thread_count) {
    const IndexShare share = share_of_thread(total, multiple, thread, thread_count);
    if (share.count > 0) f(share.first, share.count);
  });
}

// f(index) for each index in [0, count), handed out one at a time.
template <class F>
void parallel_each(int threads, std::int64_t count, F&& f) {
  run_each(threads, count, std::forward<F>(f));
}

}  // namespace tilewright
