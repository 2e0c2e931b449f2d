// A team of threads for one parallel region, in the caller's floating-point mode; exceptions reach the
// caller, who splits the work. Threads are the caller's own (device/thread_pool.hpp), or OpenMP's if in use.
#pragma once

#include <omp.h>

#include <atomic>
#include <cstdint>

#include "core/host/host_state.hpp"
#include "device/thread_pool.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace tilewright {

// The most threads of a call: OpenMP keeps a block per thread on the stack, and an overflow ends the process.
inline constexpr int most_threads = 4096;
// Throws Error(invalid_argument) for a number of threads outside the valid range.
void check_threads(int threads);

// Returns how many of `wanted` threads a team can have. OpenMP ends the process if a thread cannot be
// started, so larger teams are tried first. Returns 1 in a child of fork whose parent had threads.
int usable_threads(int wanted);

// True if the calling thread is at work in a team, or in a parallel region of the caller's OpenMP.
bool is_in_team();

// Marks the calling thread as at work in a team while it lives.
class InTeam {
 public:
  InTeam();
  ~InTeam();
  InTeam& operator=(InTeam&&) = delete;

 private:
  bool before_;
};

// True if teams use OpenMP's threads: by TILEWRIGHT_TEAM, if the program configures their places or waiting,
// or if another library uses the same runtime. OpenMP's threads spin for milliseconds after a region and
// leave no cores to a second pool; without other users they would only take cores from others.
bool openmp_runs_teams();
// Makes teams use OpenMP from now on: a library that computes with its threads was opened.
void prefer_openmp();

// Rounding, flush-to-zero and denormals-are-zero of the calling thread; exception flags are not part of it.
class FloatMode {
 public:
#if defined(__x86_64__)
  FloatMode() : mode_(_mm_getcsr() & ~0x3fu) {}
  void enter() const { _mm_setcsr(mode_); }
#elif defined(__aarch64__)
  FloatMode() {
    std::uint64_t fpcr = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    mode_ = unsigned(fpcr);
  }
  void enter() const { __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t(mode_))); }
#else
  FloatMode() : mode_(unsigned(std::fegetround())) {}
  void enter() const { std::fesetround(int(mode_)); }
#endif
  friend bool operator==(const FloatMode&, const FloatMode&) = default;

 private:
  unsigned mode_;
};

// Puts the calling thread into another thread's mode while it lives.
class FloatModeScope {
 public:
  explicit FloatModeScope(const FloatMode& mode) : differs_(!(mode == before_)) {
    if (differs_) mode.enter();
  }
  ~FloatModeScope() {
    if (differs_) before_.enter();
  }
  FloatModeScope& operator=(FloatModeScope&&) = delete;

 private:
  FloatMode before_;
  bool differs_;
};

// Calls f(thread, thread_count) for each thread of a team of at most `threads`. The caller does the part of a
// late thread, so no thread may wait for another in f.
template <class F>
void run_team(int threads, F&& f) {
  threads = is_in_team() ? 1 : usable_threads(threads);
  const bool is_openmp = threads > 1 && openmp_runs_teams();
  if (threads <= 1 || (!is_openmp && ThreadPool::own_has_ended())) {
    f(0, 1);
    return;
  }
  const NoCancel uncancelled;
  const KeepErrno before;
  const FloatMode mode;
  FirstException exception;
  const auto work = [&](int thread, int thread_count) {
    const FloatModeScope scope(mode);
    exception.guard([&] { f(thread, thread_count); });
  };
  if (is_openmp) {
#pragma omp parallel num_threads(threads)
    work(omp_get_thread_num(), omp_get_num_threads());
  } else {
    auto one = [&](int thread) {
      const InTeam scope;
      work(thread, threads);
    };
    ThreadPool::own().run(
        threads, [](void* what, int thread) { (*static_cast<decltype(one)*>(what))(thread); }, &one);
  }
  exception.rethrow();
}

// Calls f(index) for each index in [0, count), handed out one at a time; the others still run if one throws.
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
