// The order in which sums of products are formed: products of one C one behind the other, in the order of the
// lists, so that C stays in registers and is one thread's.
#pragma once

#include <span>

#include "gemm/sums/list.hpp"
#include "gemm/sums/scratch.hpp"

namespace tilewright {

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
