// A team of threads for one parallel region: as many threads as this process can have, in the caller's
// floating-point mode; exceptions, which must not escape from a thread, are carried to the caller. The caller
// splits the work. The threads are the caller's own (device/thread_pool.hpp), or OpenMP's if the program uses
// them already.
#pragma once

#include <omp.h>

#include <atomic>
#include <cstdint>

#include "core/host/first_exception.hpp"
#include "core/host/host_state.hpp"
#include "device/thread_pool.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace tilewright {

// The most threads of a call: the OpenMP runtime keeps a block on the stack for each thread of a team and
// ends the process if that overflows.
inline constexpr int most_threads = 4096;
// Throws Error(invalid_argument) for a number of threads outside the valid range.
void check_threads(int threads);

// Returns how many of `wanted` threads a team of the calling thread can have. OpenMP ends the process if a
// thread cannot be started, so teams larger than any before are tried first (address space, ulimit -u, limits
// of a container). Returns 1 in a child of fork whose parent had threads: there, a pool's threads no longer
// exist.
int usable_threads(int wanted);

// True if the calling thread is at work in a team, or in a parallel region of the caller's OpenMP.
bool is_in_team();

// Marks the calling thread as at work in a team while it lives.
class InTeam {
 public:
  InTeam();
  ~InTeam();
  InTeam(const InTeam&) = delete;
  InTeam& operator=(const InTeam&) = delete;

 private:
  bool before_;
};

// True if teams use OpenMP's threads: TILEWRIGHT_TEAM says so, the program configures where OpenMP's threads
// stay or how they wait, or another library in this process uses the same runtime. OpenMP's threads spin for
// milliseconds after a region: beside them a second pool would have no cores, and without other users of
// OpenMP they would only take the cores from others, such as the threads of an OpenBLAS.
bool openmp_runs_teams();
// Makes teams use OpenMP from now on: a library that computes with its threads was opened.
void prefer_openmp();

// Rounding, flush-to-zero and denormals-are-zero of the calling thread; exception flags are not part of it.
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

// Puts the calling thread into another thread's mode while it lives.
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

// Calls f(thread, thread_count) for each thread of a team of at most `threads`. The caller does the part of a
// thread that comes late, so no thread may wait for another in f.
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
