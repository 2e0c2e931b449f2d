// The order in which sums of products are formed: products of one C one behind the other, in the order of the
// lists, so that C stays in registers and is one thread's.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/host/fork_gate.hpp"
#include "gemm/sums/list.hpp"

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

// Memory that sorting takes, kept by a Context from call to call: got anew each time, the operating system
// would have to clear its pages, which takes as long as sorting.
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

class SumOrder {
 public:
  // Throws Error(invalid_argument) where products of different stacks name the same C with other sizes.
  // `ascends`: of one list, whether it is known that each C begins at or behind the one before. `scratches`
  // outlive this.
  SumOrder(std::span<const SumList> lists, SumScratches& scratches, bool ascends = false);
  ~SumOrder() {
    if (scratch_ != nullptr) scratches_.give(std::move(scratch_));
  }
  SumOrder(const SumOrder&) = delete;
  SumOrder& operator=(const SumOrder&) = delete;

  // Of all products.
  std::int64_t count() const { return count_; }
  // The only list with products, if its products are in order as they stand; else -1, and runs() says it.
  std::int64_t as_listed() const { return is_sorted_ ? -1 : only_; }
  // Those of one C follow one another, with those of the first list first.
  std::span<const SumRun> runs() const {
    return is_sorted_ ? std::span<const SumRun>(scratch_->sorted) : std::span<const SumRun>();
  }

 private:
  void sort(std::span<const SumList> lists);

  std::int64_t count_ = 0;
  std::int64_t only_ = -1;
  bool is_sorted_ = false;
  SumScratches& scratches_;
  std::unique_ptr<SumScratch> scratch_;  // null where nothing had to be looked up
};

}  // namespace tilewright
