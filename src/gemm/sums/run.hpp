// Orders and runs sums of products into one C, after the checks: by kernels that hold C in registers over a
// run, or product by product for sizes without such kernels. No C is touched by two threads, and how sums are
// cut does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/host/fork_gate.hpp"
#include "gemm/run/runner.hpp"
#include "gemm/sums/list.hpp"

namespace tilewright {

// Consecutive products of one list with one C.
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
  std::vector<std::int64_t> ends;       // of each C: its number of runs, then where they end
  std::vector<std::int32_t> named_by;   // of each C: the list that named it first
};

// Scratch memory for sorting, kept by a Context from call to call: fresh pages cost as much time as sorting.
class SumScratches {
 public:
  std::unique_ptr<SumScratch> take() {
    std::lock_guard lock(mutex_);
    if (free_ == nullptr) return std::make_unique<SumScratch>();
    return std::move(free_);
  }
  // Keeps one scratch, if it is not too large.
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

// The order in which sums are formed: products of one C follow one another, in the order of the lists, so
// that C stays in registers and belongs to one thread.
class SumOrder {
 public:
  // Throws Error(invalid_argument) if products of different stacks name the same C with other sizes.
  // `ascends`: no C of the one list begins before its predecessor. `scratches` outlive this.
  SumOrder(std::span<const SumList> lists, SumScratches& scratches, bool ascends = false);
  ~SumOrder() {
    if (scratch_ != nullptr) scratches_.give(std::move(scratch_));
  }
  SumOrder& operator=(SumOrder&&) = delete;

  std::int64_t count() const { return count_; }  // of all products
  // The only list with products, if its products are in order as listed; else -1, and runs() has the order.
  std::int64_t as_listed() const { return is_sorted_ ? -1 : only_; }
  std::span<const SumRun> runs() const {
    return is_sorted_ ? std::span<const SumRun>(scratch_->sorted) : std::span<const SumRun>();
  }

 private:
  void sort(std::span<const SumList> lists);

  std::int64_t count_ = 0;
  std::int64_t only_ = -1;
  bool is_sorted_ = false;
  SumScratches& scratches_;
  std::unique_ptr<SumScratch> scratch_;  // null if nothing was looked up
};

// The code that forms the sums of one stack: kernels or products of single matrices. `first` applies beta to
// a C, `later` adds to it. If all are null, nothing is multiplied and C is scaled.
struct SumCode {
  std::shared_ptr<const GemmSmallCpuKernel> first_kernel, later_kernel;
  std::shared_ptr<const Runner> first_product, later_product;
};

// `codes[i]` is for `lists[i]`; beta has the lists' type, or is null if their class gives its value.
void run_sums(std::span<const SumList> lists, std::span<const SumCode> codes, const SumOrder& order,
              const void* beta, int threads);

// Estimates the seconds of all of it on one thread.
double sums_s(std::span<const SumList> lists);

}  // namespace tilewright
