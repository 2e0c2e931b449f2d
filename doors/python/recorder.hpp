// What a block of code multiplied: distinct problems, how often, and how long the calls took.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/host/fork_gate.hpp"
#include "tilewright/problem.hpp"

namespace tilewright::python {

struct Runs {
  std::int64_t count = 0;
  double seconds = 0;  // on the host; of work on a GPU what queueing it took
};

// The problems of one block; threads may add to it at once.
class Record {
 public:
  void add(const std::string& problem, double seconds);
  std::map<std::string, Runs> runs() const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, Runs> runs_;
};

// All blocks that are open now, of whichever thread. Calls outside of any pay for one look at a flag.
class Recorder {
 public:
  bool active() const noexcept { return active_.load(std::memory_order_relaxed); }
  void begin(const std::shared_ptr<Record>& record);
  void end(const std::shared_ptr<Record>& record);
  void add(const GemmProblem& problem, double seconds);

 private:
  std::atomic<bool> active_ = false;
  Mutex mutex_;
  std::vector<std::shared_ptr<Record>> open_;
};

// f(), recorded as `problem()` where a block is open.
template <class P, class F>
void recorded(Recorder& recorder, P&& problem, F&& f) {
  if (!recorder.active()) return f();
  const auto begin = std::chrono::steady_clock::now();
  f();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  recorder.add(problem(), took.count());
}

}  // namespace tilewright::python
