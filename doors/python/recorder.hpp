// Records the products of a block of code: distinct problems, their numbers of calls, and the time of the
// calls.
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
  double seconds = 0;  // time on the host; for work on a GPU, the time to queue it
};

// The problems of one block; threads may add to it concurrently.
class Record {
 public:
  void add(const std::string& problem, double seconds);
  std::map<std::string, Runs> runs() const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, Runs> runs_;
};

// All blocks that are open now, on any thread. Calls outside of any block pay for one load of a flag.
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

// Runs f() and records it as `problem()` if a block is open.
template <class P, class F>
void recorded(Recorder& recorder, P&& problem, F&& f) {
  if (!recorder.active()) return f();
  const auto begin = std::chrono::steady_clock::now();
  f();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  recorder.add(problem(), took.count());
}

}  // namespace tilewright::python
