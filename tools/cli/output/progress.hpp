// Shows the progress of a long job on stderr: a bar with the estimated time left on a terminal, a plain line
// now and then elsewhere, nothing at all for work that ends within two seconds. Ctrl-C ends such a job at a
// moment of its choosing.
#pragma once

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "people/table.hpp"

namespace tilewright::cli {

class Progress {
 public:
  Progress(std::string what, std::int64_t total)
      : what_(std::move(what)),
        total_(std::max<std::int64_t>(1, total)),
        terminal_(isatty(STDERR_FILENO) != 0) {}
  ~Progress() { clear(); }
  Progress& operator=(Progress&&) = delete;

  // Sets how many there are in all, where that has changed.
  void expect(std::int64_t total) { total_ = std::max<std::int64_t>(1, total); }
  // `done` of `total` are complete; `now` names the next step.
  void show(std::int64_t done, const std::string& now = "") {
    const double elapsed = seconds_since(begin_);
    if (elapsed < quiet_s) return;
    const double interval = terminal_ ? 0.1 : plain_interval_s;
    if (shown_ && seconds_since(last_) < interval) return;
    last_ = Clock::now();
    shown_ = true;
    const std::string left =
        done > 0 ? fmt::format("{:.0f} s left",
                               elapsed / double(done) * double(std::max<std::int64_t>(0, total_ - done)))
                 : "";
    if (!terminal_) {
      say("{}: {} of {}, {} {}\n", what_, done, total_, left, now);
      return;
    }
    constexpr int width = 30;
    const auto filled = static_cast<std::size_t>(std::min<std::int64_t>(width, done * width / total_));
    const std::string line = fmt::format("{} [{}{}] {}/{}, {} {}", what_, std::string(filled, '#'),
                                         std::string(width - filled, '.'), done, total_, left, now);
    say("\r\033[K{}", line.substr(0, people::line_width - 1));
    std::fflush(stderr);
  }

  // Removes the bar from the terminal, so that a line can be printed; show() draws it again.
  void clear() {
    if (terminal_ && shown_) say("\r\033[K");
    std::fflush(stderr);
    shown_ = shown_ && !terminal_;
  }

 private:
  // A failure to write to stderr does not end a job.
  template <class... Parts>
  static void say(fmt::format_string<Parts...> form, Parts&&... parts) {
    const std::string text = fmt::format(form, std::forward<Parts>(parts)...);
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
  }

  using Clock = std::chrono::steady_clock;
  static constexpr double quiet_s = 2;
  static constexpr double plain_interval_s = 10;
  static double seconds_since(Clock::time_point point) {
    return std::chrono::duration<double>(Clock::now() - point).count();
  }

  std::string what_;
  std::int64_t total_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

// Makes Ctrl-C a request: while an Interrupt lives, SIGINT and SIGTERM only make requested() true, so that a
// long job ends at a moment of its choosing and keeps its results. A second signal kills the process. A
// signal that the caller has ignored (a script's `&`, nohup) stays ignored.
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
  Interrupt& operator=(Interrupt&&) = delete;

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
