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
std::atomic<bool> had_threads = false, lost_threads = false, is_ending = false;
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
    if ((state.load() & within_mask) == 0) return keeps_others_out = true;
    if (Clock::now() > end) break;
    sleep_briefly();
  }
  state.fetch_sub(one_fork);
  state.notify_all();
  return false;
}

// A thread within a Section may wait for a thread that wants to enter one, so the gate is closed only for
// short periods. fork does not wait for ever: a child that may not compute is better than none.
void before_fork() {
  if (std::exchange(is_forking, true)) return;  // see go_first
  const NoCancel scope;
  struct stat tasks {};
  constexpr nlink_t of_one = 3;  // /proc/self/task has ".", "..", and a folder for each thread
  had_threads = lost_threads || ::stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > of_one;
  if (depth > 0) return;  // a signal handler within a call: fork would wait for this very thread
  constexpr Clock::duration each = std::chrono::milliseconds(20), all = std::chrono::seconds(20);
  for (const auto end = Clock::now() + all; !close_gate(each) && Clock::now() < end;) sleep_briefly();
}

void in_parent() {
  is_forking = false;
  if (!std::exchange(keeps_others_out, false)) return;  // the wait was given up
  state.fetch_sub(one_fork);
  state.notify_all();
}

void in_child() {
  if (!std::exchange(is_forking, false)) return;
  state = depth > 0 ? one_within : 0;
  keeps_others_out = false;
  ++generations;
  if (had_threads) lost_threads = true;
}

// Libraries that calls use, the host's BLAS among them, are destroyed next: threads that are within a Section
// leave it first, and others stay outside. The thread that ends the process may go on.
void before_end() {
  const bool is_in_call =
      depth++ > 0;  // a signal handler within a call: others may wait for this very thread
  constexpr Clock::duration each = std::chrono::milliseconds(20), all = std::chrono::seconds(5);
  is_ending = true;
  bool is_closed = false;
  if (!is_in_call)
    for (const auto end = Clock::now() + all; !(is_closed = close_gate(each)) && Clock::now() < end;)
      sleep_briefly();
  if (!is_closed) state.fetch_add(one_fork);
  keeps_others_out = false;
}

// A thread that enters while the process ends waits for that, but not for ever: a destructor may wait for the
// thread. Returns true if the gate was opened meanwhile.
bool opens_before_end() {
  for (const auto end = Clock::now() + std::chrono::seconds(30); Clock::now() < end; sleep_briefly())
    if (state.load() < one_fork) return true;
  return false;
}

int register_handlers() { return pthread_atfork(before_fork, in_parent, in_child); }
// Registered when the library is loaded, before_end runs after what the program registers.
[[maybe_unused]] const int registered = register_handlers() + std::atexit(before_end);

}  // namespace

void enter() noexcept {
  if (depth++ > 0) return;
  for (;;) {
    const std::uint32_t before = state.fetch_add(one_within);
    if (before < one_fork) return;
    std::uint32_t now = state.fetch_sub(one_within) - one_within;
    while (now >= one_fork) {
      if (!is_ending)
        state.wait(now);
      else if (!opens_before_end()) {
        state.fetch_add(one_within);
        return;
      }
      now = state.load();
    }
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
