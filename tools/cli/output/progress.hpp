// Shows the progress of a long job on stderr: a bar with the estimated time left on a terminal, a plain line
// now and then elsewhere, nothing at all for work that ends within two seconds.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace tilewright::cli {

class Progress {
 public:
  Progress(std::string what, std::int64_t total)
      : what_(std::move(what)),
        total_(std::max<std::int64_t>(1, total)),
        terminal_(isatty(STDERR_FILENO) != 0) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of `total` are complete; `now` names the next step.
  void show(std::int64_t done, const std::string& now = "") {
    const double elapsed = seconds_since(begin_);
    if (elapsed < quiet_s) return;
    const double interval = terminal_ ? 0.1 : plain_interval_s;
    if (shown_ && seconds_since(last_) < interval) return;
    last_ = Clock::now();
    shown_ = true;
    const std::string left =
        done > 0 ? fmt::format("{:.0f} s left", elapsed / double(done) * double(total_ - done)) : "";
    if (!terminal_) {
      say("{}: {} of {}, {} {}\n", what_, done, total_, left, now);
      return;
    }
    constexpr int width = 30;
    const auto filled = static_cast<std::size_t>(std::min<std::int64_t>(width, done * width / total_));
    say("\r\033[K{} [{}{}] {}/{}, {} {}", what_, std::string(filled, '#'), std::string(width - filled, '.'),
        done, total_, left, now.substr(0, 48));
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

}  // namespace tilewright::cli
