// Makes Ctrl-C a request: while an Interrupt lives, SIGINT and SIGTERM only make requested() true, so that a
// long job ends at a moment of its choosing and keeps its results. A second signal kills the process. A
// signal that the caller has ignored (a script's `&`, nohup) stays ignored.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace tilewright::cli {

class Interrupt {
 public:
  Interrupt() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM})
      if (!is_ignored(signal)) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    file_ = signalfd(-1, &signals_, SFD_NONBLOCK | SFD_CLOEXEC);
  }
  ~Interrupt() {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    if (file_ >= 0) close(file_);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() {
    signalfd_siginfo info{};
    if (!requested_ && file_ >= 0 && read(file_, &info, sizeof info) == sizeof info) {
      requested_ = true;
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    return requested_;
  }

 private:
  static bool is_ignored(int signal) {
    struct sigaction now {};
    return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
  }

  sigset_t signals_{}, before_{};
  int file_ = -1;
  bool requested_ = false;
};

}  // namespace tilewright::cli
