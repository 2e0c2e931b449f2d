// Preserves the state of the host process across a call: errno, the calling thread's cancellability, and
// signals. Fork is handled in fork_gate.hpp.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>

namespace tilewright {

// Restores errno on destruction: programs read it after calls of their own, not of this library.
class KeepErrno {
 public:
  KeepErrno() : before_(errno) {}
  ~KeepErrno() { errno = before_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int before_;
};

// The calling thread cannot be cancelled while this lives: pthread_cancel unwinds the stack with an exception
// that must not pass through code that would not release its resources, such as SQLite's, nor through
// noexcept functions.
class NoCancel {
 public:
  NoCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancel() { pthread_setcancelstate(before_, nullptr); }
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Threads started while this lives take no signals but those of their own faults: the host's handlers run on
// the host's threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&all, fault);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// Blocks a signal that a write of the calling thread may raise and whose default action ends the process:
// SIGPIPE of closed pipes, SIGXFSZ of files that reach the limit of `ulimit -f`.
class HeldSignal {
 public:
  explicit HeldSignal(int signal) {
    sigemptyset(&held_);
    sigaddset(&held_, signal);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, signal) == 1;
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignal() {
    const KeepErrno errno_before;
    constexpr timespec at_once{};
    while (!was_pending_ && sigtimedwait(&held_, nullptr, &at_once) == -1 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignal(const HeldSignal&) = delete;
  HeldSignal& operator=(const HeldSignal&) = delete;

 private:
  sigset_t held_{}, before_{};
  bool was_pending_ = false;
};

// Repeats the system call f() until no signal interrupts it. Do not use it for close(), which has closed the
// descriptor even if it was interrupted.
template <class F>
auto uninterrupted(F&& f) {
  for (;;)
    if (const auto result = f(); result != -1 || errno != EINTR) return result;
}

}  // namespace tilewright
