// A team of OpenMP's threads for one parallel region: as many as this process can have, in the caller's
// floating-point mode, with the exceptions that OpenMP may not let escape carried out of it. How work is cut
// is the caller's.
#pragma once

#include <omp.h>

#include <atomic>
#include <cstdint>
#include <exception>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace tilewright {

// No call asks for more: the OpenMP runtime keeps a block on the stack for each thread of a team and ends the
// process where that overflows.
inline constexpr int most_threads = 4096;

// How many of these threads a team of the calling thread can have: OpenMP ends the process where one cannot
// be started, so larger teams than before are tried first (address space, ulimit -u, limits of a container).
// 1 in a child of fork whose parent had threads: of OpenMP's pool only the memory is left there.
int usable_threads(int wanted);

// Rounding, flush-to-zero and denormals-are-zero of the calling thread; flags that operations raised are not
// part of it.
class FloatMode {
 public:
#if defined(__x86_64__)
  FloatMode() : mode_(_mm_getcsr() & ~flags) {}
  void enter() const { _mm_setcsr(mode_); }
  friend bool operator==(const FloatMode&, const FloatMode&) = default;

 private:
  static constexpr unsigned flags = 0x3f;
  unsigned mode_;
#else
  FloatMode() : rounding_(std::fegetround()) {}
  void enter() const { std::fesetround(rounding_); }
  friend bool operator==(const FloatMode&, const FloatMode&) = default;

 private:
  int rounding_;
#endif
};

// The calling thread in another's mode while it lives.
class FloatModeScope {
 public:
  explicit FloatModeScope(const FloatMode& mode) : differs_(!(mode == before_)) {
    if (differs_) mode.enter();
  }
  ~FloatModeScope() {
    if (differs_) before_.enter();
  }
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

 private:
  FloatMode before_;
  bool differs_;
};

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

// f(thread, thread_count) on each thread of a team of at most `threads`.
template <class F>
void run_team(int threads, F&& f) {
  threads = usable_threads(threads);
  if (threads <= 1) {
    f(0, 1);
    return;
  }
  const FloatMode mode;
  FirstException exception;
#pragma omp parallel num_threads(threads)
  {
    const FloatModeScope scope(mode);
    exception.guard([&] { f(omp_get_thread_num(), omp_get_num_threads()); });
  }
  exception.rethrow();
}

// f(index) for each index in [0, count), handed out one at a time; what is left when one throws is done all
// the same.
template <class F>
void run_each(int threads, std::int64_t count, F&& f) {
  FirstException exception;
  std::atomic<std::int64_t> next = 0;
  run_team(count > 1 ? threads : 1, [&](int, int) {
    for (std::int64_t i = next++; i < count; i = next++) exception.guard([&] { f(i); });
  });
  exception.rethrow();
}

}  // namespace tilewright
