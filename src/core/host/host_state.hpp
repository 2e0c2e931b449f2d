// Preserves the state of the host process across a call: errno, the calling thread's cancellability, signals,
// and exceptions. Fork is handled in fork_gate.hpp.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <exception>

namespace tilewright {

// Restores errno on destruction: programs read it after calls of their own, not of this library.
class KeepErrno {
 public:
  KeepErrno() : before_(errno) {}
  ~KeepErrno() { errno = before_; }
  KeepErrno& operator=(KeepErrno&&) = delete;

 private:
  int before_;
};

// The calling thread cannot be cancelled while this lives: pthread_cancel unwinds the stack, and must not do
// so through noexcept functions or through C code that would keep its resources, such as SQLite's.
class NoCancel {
 public:
  NoCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancel() { pthread_setcancelstate(before_, nullptr); }
  NoCancel& operator=(NoCancel&&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Threads started meanwhile take only their faults' signals: the host's handlers run on its own threads.
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
  SignalsBlocked& operator=(SignalsBlocked&&) = delete;

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
  HeldSignal& operator=(HeldSignal&&) = delete;

 private:
  sigset_t held_{}, before_{};
  bool was_pending_ = false;
};

// Repeats the system call f() until no signal interrupts it; not for close(), which closes even then.
template <class F>
auto uninterrupted(F&& f) {
  for (;;)
    if (const auto result = f(); result != -1 || errno != EINTR) return result;
}

// Carries the first exception out of code that exceptions must not leave: another thread or another stack.
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

}  // namespace tilewright
