// Memory that sorting sums by C takes, kept by a Context from call to call: got anew each time, the operating
// system would have to clear its pages, which takes as long as sorting.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/host/fork_gate.hpp"

namespace tilewright {

// Products of one list with one C, one behind the other.
struct SumRun {
  std::int64_t first = 0, count = 0;  // in the list
  std::int32_t list = 0;
  bool begins_sum = true;  // nothing was added to its C before
};

// An address and its number.
struct NumberOfC {
  const void* c = nullptr;
  std::int64_t number = 0;
};

struct SumScratch {
  std::vector<NumberOfC> numbers, more_numbers;  // of open addressing
  std::vector<SumRun> found, sorted;
  std::vector<std::int64_t> number_of;  // of each found run's C
  std::vector<std::int64_t> ends;       // of each C: how many runs, then where they end
  std::vector<std::int32_t> named_by;   // of each C: the list that named it first
};

class SumScratches {
 public:
  std::unique_ptr<SumScratch> take() {
    std::lock_guard lock(mutex_);
    if (free_ == nullptr) return std::make_unique<SumScratch>();
    return std::move(free_);
  }
  // One is kept, if it is not too large.
  void give(std::unique_ptr<SumScratch> scratch) {
    constexpr std::size_t most_runs = 1 << 20;
    std::lock_guard lock(mutex_);
    if (scratch->found.capacity() <= most_runs && scratch->numbers.capacity() <= most_runs)
      free_ = std::move(scratch);
  }

 private:
  Mutex mutex_;
  std::unique_ptr<SumScratch> free_;
};

}  // namespace tilewright
