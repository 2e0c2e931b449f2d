// The order in which sums of products are formed: products of one C one behind the other, in the order of the
// lists, so that C stays in registers and is one thread's.
#pragma once

#include <span>
#include <vector>

#include "gemm/sums/list.hpp"

namespace tilewright {

// Products of one list with one C, one behind the other.
struct SumRun {
  std::int64_t first = 0, count = 0;  // in the list
  std::int32_t list = 0;
  bool begins_sum = true;  // nothing was added to its C before
};

class SumOrder {
 public:
  // Throws Error(invalid_argument) where products of different stacks name the same C with other sizes.
  // `ascends`: of one list, whether it is known that each C begins at or behind the one before.
  explicit SumOrder(std::span<const SumList> lists, bool ascends = false);

  // Of all products.
  std::int64_t count() const { return count_; }
  // The only list with products, if its products are in order as they stand; else -1, and runs() says it.
  std::int64_t as_listed() const { return runs_.empty() ? only_ : -1; }
  // Those of one C follow one another, with those of the first list first.
  std::span<const SumRun> runs() const { return runs_; }

 private:
  void sort(std::span<const SumList> lists);

  std::int64_t count_ = 0;
  std::int64_t only_ = -1;
  std::vector<SumRun> runs_;
};

}  // namespace tilewright
