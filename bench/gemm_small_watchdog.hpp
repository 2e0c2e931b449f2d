// Ends the program when nothing has happened for a long time: a kernel that never returns must not cost the
// rows that were to follow in another run. Whatever was measured is on disk.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace tilewright::bench {

class Watchdog {
 public:
  Watchdog() : thread_([this] { watch(); }) {}
  ~Watchdog() {
    stops_ = true;
    thread_.join();
  }
  void begin(const std::string& what) {
    const std::lock_guard lock(mutex_);
    what_ = what;
    since_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void watch() {
    constexpr std::chrono::seconds patience(60);
    while (!stops_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const std::lock_guard lock(mutex_);
      if (Clock::now() - since_ < patience) continue;
      std::printf("HANGS %s\n", what_.c_str());
      std::fflush(stdout);
      std::_Exit(3);
    }
  }

  std::mutex mutex_;
  std::string what_ = "start";
  Clock::time_point since_ = Clock::now();
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

}  // namespace tilewright::bench
