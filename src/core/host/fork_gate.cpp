// One word counts the threads within a Section and the forks that wait; a child counts itself alone.
#include "core/host/fork_gate.hpp"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>

namespace tilewright::fork_gate {
namespace {

using Clock = std::chrono::steady_clock;

// The lower half: threads within. The upper half: forks under way, which keep others out.
constexpr std::uint32_t one_within = 1, one_fork = 1u << 16, within_mask = one_fork - 1;
std::atomic<std::uint32_t> state = 0;
std::atomic<int> generations = 0;
std::atomic<bool> had_threads = false, lost_threads = false;
std::atomic<Clock::rep> opens_at = 0;  // when threads may enter although the process ends; 0: it does not
thread_local constinit int depth = 0;
thread_local constinit bool is_forking = false, keeps_others_out = false;

void sleep_briefly() {
  timespec moment{0, 20'000};  // ns
  nanosleep(&moment, nullptr);
}

// Returns true if all other threads left within `patience`; otherwise opens the gate again.
bool close_gate(Clock::duration patience) {
  state.fetch_add(one_fork);
  for (const auto end = Clock::now() + patience;;) {
    if ((state.load() & within_mask) == 0) return true;
    if (Clock::now() > end) break;
    sleep_briefly();
  }
  state.fetch_sub(one_fork);
  return false;
}

// A thread within a Section may wait for a thread that wants to enter one, so the gate is closed only for
// short periods until no thread is within or all patience is lost.
bool close_in_turns(Clock::duration patience) {
  for (const auto end = Clock::now() + patience; Clock::now() < end; sleep_briefly())
    if (close_gate(std::chrono::milliseconds(20))) return true;
  return false;
}

// fork does not wait for ever: a child that may not compute is better than none.
void before_fork() {
  if (std::exchange(is_forking, true)) return;  // see go_first
  const NoCancel scope;
  struct stat tasks {};
  constexpr nlink_t of_one = 3;  // /proc/self/task has ".", "..", and a folder for each thread
  had_threads = lost_threads || ::stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > of_one;
  if (depth > 0) return;  // a signal handler within a call: fork would wait for this very thread
  keeps_others_out = close_in_turns(std::chrono::seconds(20));
}

void in_parent() {
  is_forking = false;
  if (std::exchange(keeps_others_out, false)) state.fetch_sub(one_fork);
}

void in_child() {
  if (!std::exchange(is_forking, false)) return;
  state = depth > 0 ? one_within : 0;
  keeps_others_out = false;
  ++generations;
  if (had_threads) lost_threads = true;
}

// Libraries that calls use are destroyed next. The host's BLAS waits for its threads then, for ever where one
// misses the signal because it computes: so all calls leave first, and others stay outside. The thread that
// ends the process may go on.
void before_end() {
  // In a signal handler within a call others may wait for this very thread.
  const bool is_in_call = depth++ > 0;
  if (is_in_call || !close_in_turns(std::chrono::minutes(2))) state.fetch_add(one_fork);
  // A destructor may wait for a thread that stays outside.
  opens_at = (Clock::now() + std::chrono::seconds(5)).time_since_epoch().count();
}

bool opens_again() {
  const Clock::rep at = opens_at;
  return at != 0 && Clock::now().time_since_epoch().count() >= at;
}

int register_handlers() { return pthread_atfork(before_fork, in_parent, in_child); }
// Registered when the library is loaded, before_end runs after what the program registers later.
[[maybe_unused]] const int registered = register_handlers() + std::atexit(before_end);

}  // namespace

void enter() noexcept {
  if (depth++ > 0) return;
  while (state.fetch_add(one_within) >= one_fork) {
    if (opens_again()) return;
    state.fetch_sub(one_within);
    while (state.load() >= one_fork && !opens_again()) sleep_briefly();
  }
}

void leave() noexcept {
  if (--depth == 0) state.fetch_sub(one_within);
}

void go_first() noexcept { register_handlers(); }
bool is_within() noexcept { return depth > 0; }
int generation() noexcept { return generations.load(std::memory_order_relaxed); }
bool threads_were_lost() noexcept { return lost_threads.load(std::memory_order_relaxed); }

}  // namespace tilewright::fork_gate
