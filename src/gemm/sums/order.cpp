// Runs are sorted, not products, by the number of their C, which a table of addresses gives in the order of
// first appearance.
#include "gemm/sums/order.hpp"

#include <functional>

namespace tilewright {
namespace {

// Addresses and their numbers, by open addressing.
class NumbersOfC {
 public:
  NumbersOfC() : slots_(1024) {}

  std::int64_t size() const { return used_; }
  // Its number: size() before the call if it was never asked for.
  std::int64_t find(const void* c) {
    if (2 * (used_ + 1) > std::int64_t(slots_.size())) grow();
    Slot& slot = slot_of(slots_, c);
    if (slot.c == nullptr) slot = {c, used_++};
    return slot.number;
  }

 private:
  struct Slot {
    const void* c = nullptr;
    std::int64_t number = 0;
  };

  static Slot& slot_of(std::vector<Slot>& slots, const void* c) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = reinterpret_cast<std::uintptr_t>(c) * 0x9e3779b97f4a7c15u >> 20 & mask;
    while (slots[at].c != nullptr && slots[at].c != c) at = (at + 1) & mask;
    return slots[at];
  }

  void grow() {
    std::vector<Slot> wider(slots_.size() * 4);
    for (const Slot& slot : slots_)
      if (slot.c != nullptr) slot_of(wider, slot.c) = slot;
    slots_.swap(wider);
  }

  std::vector<Slot> slots_;
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
bool is_in_runs(const SumList& list) {
  NumbersOfC numbers;
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
                  list, product, p.m, p.n, p.ldc, first, q.m, q.n, q.ldc));
}

}  // namespace

SumOrder::SumOrder(std::span<const SumList> lists, bool ascends) {
  std::int64_t lists_with_products = 0;
  for (std::size_t s = 0; s < lists.size(); ++s) {
    if (!lists[s].writes()) continue;
    ++lists_with_products;
    only_ = std::int64_t(s);
    count_ += lists[s].count();
  }
  if (count_ == 0) return;
  if (lists_with_products == 1 && (ascends || is_in_runs(lists[std::size_t(only_)]))) return;
  sort(lists);
}

void SumOrder::sort(std::span<const SumList> lists) {
  NumbersOfC numbers;
  std::vector<SumRun> found;
  std::vector<std::int64_t> number_of;  // of each run's C
  std::vector<std::int64_t> ends;       // of each C: how many runs, then where they end
  std::vector<std::int32_t> named_by;   // of each C: the list that named it first
  for (std::size_t s = 0; s < lists.size(); ++s) {
    if (!lists[s].writes()) continue;
    const auto list = std::int32_t(s);
    each_run(lists[s], [&](std::int64_t first, std::int64_t count, const void* c) {
      const auto number = std::size_t(numbers.find(c));
      const bool is_new = number == ends.size();
      if (is_new) ends.push_back(0), named_by.push_back(list);
      check_alike(lists, list, first, named_by[number]);
      ++ends[number];
      found.push_back({first, count, list, is_new});
      number_of.push_back(std::int64_t(number));
      return true;
    });
  }
  std::int64_t begin = 0;
  for (std::int64_t& end : ends) begin += std::exchange(end, begin);
  runs_.resize(found.size());
  for (std::size_t r = 0; r < found.size(); ++r)
    runs_[std::size_t(ends[std::size_t(number_of[r])]++)] = found[r];
}

}  // namespace tilewright
