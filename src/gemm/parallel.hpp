// One OpenMP parallel region over independent pieces of work, with the exceptions that OpenMP may not let
// escape carried out of it. How work is cut into pieces is the caller's.
#pragma once

#include <omp.h>

#include <atomic>
#include <cstdint>
#include <exception>

namespace tilewright {

// Keeps the first exception of a parallel region until the region has ended.
class FirstException {
 public:
  template <class F>
  void guard(F&& f) {
    try {
      f();
    } catch (...) {
      if (!taken_.exchange(true)) first_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> taken_ = false;
  std::exception_ptr first_;
};

// How many threads a call may use: 1 inside the caller's parallel region, else what was asked for or OpenMP's
// default.
inline int allowed_threads(int asked) {
  if (omp_in_parallel()) return 1;
  return asked > 0 ? asked : omp_get_max_threads();
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
  FirstException exception;
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t thread_count = omp_get_num_threads();
    const std::int64_t thread = omp_get_thread_num();
    // units * thread may pass 2^63, so the remainder is dealt out instead.
    const std::int64_t share = units / thread_count, rest = units % thread_count;
    const std::int64_t first = (share * thread + (thread < rest ? thread : rest)) * multiple;
    const std::int64_t count = (share + (thread < rest ? 1 : 0)) * multiple;
    if (count > 0 && first < total)
      exception.guard([&] { f(first, count < total - first ? count : total - first); });
  }
  exception.rethrow();
}

// f(index) for each index in [0, count), handed out one at a time.
template <class F>
void parallel_each(int threads, std::int64_t count, F&& f) {
  FirstException exception;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1 && count > 1)
  for (std::int64_t i = 0; i < count; ++i) exception.guard([&] { f(i); });
  exception.rethrow();
}

}  // namespace tilewright
