// Runs are sorted, not products, by the number of their C, which a table of addresses gives in the order of
// first appearance.
#include "gemm/sums/order.hpp"

#include <functional>

namespace tilewright {
namespace {

// Addresses and their numbers, by open addressing.
class NumbersOfC {
 public:
  explicit NumbersOfC(SumScratch& scratch) : scratch_(scratch) { scratch_.numbers.assign(1024, {}); }

  std::int64_t size() const { return used_; }
  // Its number: size() before the call if it was never asked for.
  std::int64_t find(const void* c) {
    if (2 * (used_ + 1) > std::int64_t(scratch_.numbers.size())) grow();
    NumberOfC& slot = slot_of(scratch_.numbers, c);
    if (slot.c == nullptr) slot = {c, used_++};
    return slot.number;
  }

 private:
  static NumberOfC& slot_of(std::vector<NumberOfC>& slots, const void* c) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = reinterpret_cast<std::uintptr_t>(c) * 0x9e3779b97f4a7c15u >> 20 & mask;
    while (slots[at].c != nullptr && slots[at].c != c) at = (at + 1) & mask;
    return slots[at];
  }

  void grow() {
    scratch_.more_numbers.assign(scratch_.numbers.size() * 4, {});
    for (const NumberOfC& slot : scratch_.numbers)
      if (slot.c != nullptr) slot_of(scratch_.more_numbers, slot.c) = slot;
    scratch_.numbers.swap(scratch_.more_numbers);
  }

  SumScratch& scratch_;
  std::int64_t used_ = 0;
};

// f(first, count, c) for each run; until f returns false.
template <class F>
void each_run(const SumList& list, F&& f) {
  with_products(list, [&](auto&& at) {
    for (std::int64_t first = 0, end = 0; first < list.count(); first = end) {
      const void* const c = at(first).c;
      for (end = first + 1; end < list.count() && at(end).c == c; ++end) {
      }
      if (!f(first, end - first, c)) return;
    }
  });
}

// Whether no C comes again once its run has ended.
bool is_in_runs(const SumList& list, SumScratch& scratch) {
  NumbersOfC numbers(scratch);
  bool repeats = false;
  each_run(list, [&](std::int64_t, std::int64_t, const void* c) {
    const std::int64_t before = numbers.size();
    repeats = numbers.find(c) != before;
    return !repeats;
  });
  return !repeats;
}

void check_alike(std::span<const SumList> lists, std::int32_t list, std::int64_t product,
                 std::int32_t first) {
  const GemmProblem &p = lists[std::size_t(list)].problem, &q = lists[std::size_t(first)].problem;
  if (p.m == q.m && p.n == q.n && p.ldc == q.ldc) return;
  throw Error(
      ErrorCode::invalid_argument, "c",
      fmt::format("stack {}: product {} has a C of {} x {}, ldc = {}, which stack {} has with {} x {}, "
                  "ldc = {}",
                  list, product, p.m, p.n, p.ldc, first, q.m, q.n, q.ldc),
      product);
}

}  // namespace

SumOrder::SumOrder(std::span<const SumList> lists, SumScratches& scratches, bool ascends)
    : scratches_(scratches) {
  std::int64_t lists_with_products = 0;
  for (std::size_t s = 0; s < lists.size(); ++s) {
    if (!lists[s].writes()) continue;
    ++lists_with_products;
    only_ = std::int64_t(s);
    count_ += lists[s].count();
  }
  if (count_ == 0) return;
  if (lists_with_products == 1 && ascends) return;
  scratch_ = scratches_.take();
  if (lists_with_products == 1 && is_in_runs(lists[std::size_t(only_)], *scratch_)) return;
  sort(lists);
  is_sorted_ = true;
}

void SumOrder::sort(std::span<const SumList> lists) {
  SumScratch& x = *scratch_;
  NumbersOfC numbers(x);
  x.found.clear(), x.number_of.clear(), x.ends.clear(), x.named_by.clear();
  for (std::size_t s = 0; s < lists.size(); ++s) {
    if (!lists[s].writes()) continue;
    const auto list = std::int32_t(s);
    each_run(lists[s], [&](std::int64_t first, std::int64_t count, const void* c) {
      const auto number = std::size_t(numbers.find(c));
      const bool is_new = number == x.ends.size();
      if (is_new) x.ends.push_back(0), x.named_by.push_back(list);
      check_alike(lists, list, first, x.named_by[number]);
      ++x.ends[number];
      x.found.push_back({first, count, list, is_new});
      x.number_of.push_back(std::int64_t(number));
      return true;
    });
  }
  std::int64_t begin = 0;
  for (std::int64_t& end : x.ends) begin += std::exchange(end, begin);
  x.sorted.resize(x.found.size());
  for (std::size_t r = 0; r < x.found.size(); ++r)
    x.sorted[std::size_t(x.ends[std::size_t(x.number_of[r])]++)] = x.found[r];
}

}  // namespace tilewright
