// Sorts runs, not products, by their C's number, which a table of addresses gives by first appearance.
// Threads run whole sums list by list, so that a kernel call takes some hundred products.
#include "gemm/sums/run.hpp"

#include <algorithm>
#include <array>

#include "core/refuse.hpp"
#include "gemm/cpu_small/engine.hpp"
#include "gemm/parallel.hpp"
#include "gemm/run/reference.hpp"

namespace tilewright {
namespace {

// Addresses and their numbers, by open addressing.
class NumbersOfC {
 public:
  explicit NumbersOfC(SumScratch& scratch) : scratch_(scratch) { scratch_.numbers.assign(1024, {}); }

  std::int64_t size() const { return used_; }
  // Returns its number, which is the size() before the call if it is new.
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

// Calls f(first, count, c) for each run until f returns false.
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

// True if no C comes again after its run.
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
  refuse_argument(
      "c",
      fmt::format("stack {}: product {} has a C of {} x {}, ldc = {}, which stack {} has with {} x {}, "
                  "ldc = {}",
                  list, product, p.m, p.n, p.ldc, first, q.m, q.n, q.ldc),
      product);
}

// Addresses per kernel call. Only a run that fills a whole one is cut: cuts depend on the sums alone. A
// multiple of a kernel's pass; not 4 KiB, so that the arrays do not share cache sets.
constexpr std::size_t capacity = 480;

// The work of one thread in a call.
class SumWorker {
 public:
  SumWorker(std::span<const SumList> lists, std::span<const SumCode> codes, const void* beta)
      : lists_(lists), codes_(codes), beta_(beta) {}

  // Runs products first ... last - 1 of an ordered list: whole sums.
  void run_listed(std::int64_t list, std::int64_t first, std::int64_t last) {
    const SumRun all{first, last - first, std::int32_t(list), true};
    run_of_list(std::size_t(list), std::span(&all, 1));
  }

  // Runs of whole sums.
  void run(std::span<const SumRun> runs) {
    if (lists_.size() == 1) return run_of_list(0, runs);
    std::vector<std::size_t> ends(lists_.size(), 0);
    for (const SumRun& run : runs) ++ends[std::size_t(run.list)];
    std::size_t end = 0;
    for (std::size_t& count : ends) end += std::exchange(count, end);
    std::vector<SumRun> by_list(runs.size());
    for (const SumRun& run : runs) by_list[ends[std::size_t(run.list)]++] = run;
    std::size_t begin = 0;
    for (std::size_t s = 0; s < lists_.size(); begin = ends[s], ++s)
      if (ends[s] > begin) run_of_list(s, std::span(by_list).subspan(begin, ends[s] - begin));
  }

 private:
  void put(const SumProduct& product, std::size_t i) {
    a_[i] = product.a, b_[i] = product.b, c_[i] = product.c;
  }

  // Returns how many of the first `count` addresses are in runs that end before `next`; all, if one run.
  std::size_t without_last_run(std::size_t count, const void* next) const {
    if (next == nullptr) return count;
    std::size_t whole = count;
    while (whole > 0 && c_[whole - 1] == next) --whole;
    return whole == 0 ? count : whole;
  }
  std::size_t first_run_end(std::size_t count) const {
    std::size_t end = 1;
    while (end < count && c_[end] == c_[0]) ++end;
    return end;
  }

  void call(const GemmSmallCpuKernel& kernel, std::size_t from, std::size_t to) {
    if (from < to)
      BoundKernel(list_->problem, kernel)
          .run(KernelCall(a_.data() + from, b_.data() + from, c_.data() + from, list_->alpha, beta_,
                          std::int64_t(to - from)));
  }

  // A run's products have one C, or those of each C are adjacent. A run begins all of its sums, or continues
  // one.
  void run_of_list(std::size_t s, std::span<const SumRun> runs) {
    list_ = &lists_[s];
    code_ = &codes_[s];
    with_products(*list_, [&](auto&& at) {
      if (code_->first_kernel == nullptr)
        multiply_each(runs, at);
      else
        fill(runs, at);
    });
  }

  template <class At>
  void multiply_each(std::span<const SumRun> runs, At&& at) const {
    for (const SumRun& run : runs) {
      const void* c = nullptr;
      for (std::int64_t i = run.first; i < run.first + run.count; ++i)
        multiply(at(i), std::exchange(c, at(i).c) != at(i).c && run.begins_sum);
    }
  }

  // Consecutive runs with one C are one run to the kernel.
  template <class At>
  void fill(std::span<const SumRun> runs, At&& at) {
    std::size_t count = 0;  // of filled addresses
    bool begins = true;     // the filled runs begin their sums, except a first run that was cut
    goes_on_ = false;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const SumRun& run = runs[r];
      if (run.begins_sum != begins && !(count > 0 ? at(run.first).c == c_[count - 1] : goes_on_))
        count = flush(begins, count, nullptr), begins = run.begins_sum;
      for (std::int64_t i = run.first, end = run.first + run.count; i < end;) {
        const std::int64_t full = std::min(end, i + std::int64_t(capacity - count));
        for (; i < full; ++i) put(at(i), count++);
        if (count < capacity) break;
        const void* next = i < end ? at(i).c : r + 1 < runs.size() ? at(runs[r + 1].first).c : nullptr;
        count = flush(begins, count, next);
      }
    }
    flush(begins, count, nullptr);
  }

  // Calls kernels for the filled addresses; the last run stays if `next`, the C of the next product,
  // continues it. Returns how many products stay.
  std::size_t flush(bool begins, std::size_t count, const void* next) {
    const std::size_t whole = without_last_run(count, next);
    const std::size_t later = goes_on_ ? first_run_end(whole) : 0;
    call(*code_->later_kernel, 0, later);
    call(begins ? *code_->first_kernel : *code_->later_kernel, later, whole);
    goes_on_ = next != nullptr && c_[whole - 1] == next;
    for (auto* array : {&a_, &b_, &c_})
      std::copy(array->begin() + std::ptrdiff_t(whole), array->begin() + std::ptrdiff_t(count),
                array->begin());
    return count - whole;
  }

  void multiply(const SumProduct& product, bool begins_sum) const {
    Operands o;
    o.a = product.a, o.b = product.b, o.c = product.c;
    o.alpha = list_->alpha, o.beta = beta_;
    if (code_->first_product != nullptr)
      return (begins_sum ? code_->first_product : code_->later_product)->run(o);
    if (begins_sum) scale_c(single_of(list_->problem, list_->problem.beta), o, 0, 1);
  }

  std::span<const SumList> lists_;
  std::span<const SumCode> codes_;
  const void* beta_;
  const SumList* list_ = nullptr;
  const SumCode* code_ = nullptr;
  std::array<const void*, capacity> a_, b_, c_;
  bool goes_on_ = false;  // the first filled run was cut
};

// Returns where the pieces of an ordered list begin, and its end.
std::vector<std::int64_t> borders_of(const SumList& list) {
  const double product_s = small_problem_s(list.problem);
  PieceCutter cutter(sums_piece_s);
  std::vector<std::int64_t> borders;
  with_products(list, [&](auto&& at) {
    for (std::int64_t next = 0; next < list.count();) {
      borders.push_back(next);
      cutter.begin();
      next += cutter.take(list.count() - next, product_s);
      while (next < list.count() && at(next).c == at(next - 1).c) ++next;
    }
  });
  borders.push_back(list.count());
  return borders;
}

// The same for runs.
std::vector<std::int64_t> borders_of(std::span<const SumList> lists, std::span<const SumRun> runs,
                                     double piece_s) {
  std::vector<double> product_s;
  for (const SumList& list : lists) product_s.push_back(small_problem_s(list.problem));
  const auto c_of = [&](const SumRun& run) {
    return with_products(lists[std::size_t(run.list)],
                         [&](auto&& at) -> const void* { return at(run.first).c; });
  };
  PieceCutter cutter(piece_s);
  std::vector<std::int64_t> borders;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (cutter.is_full() && (r == 0 || c_of(runs[r]) != c_of(runs[r - 1])))
      borders.push_back(std::int64_t(r)), cutter.begin();
    cutter.add(product_s[std::size_t(runs[r].list)] * double(runs[r].count));
  }
  borders.push_back(std::int64_t(runs.size()));
  return borders;
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

double sums_s(std::span<const SumList> lists) {
  double sum_s = 0;
  for (const SumList& list : lists)
    if (list.writes()) sum_s += small_problem_s(list.problem) * double(list.count());
  return sum_s;
}

void run_sums(std::span<const SumList> lists, std::span<const SumCode> codes, const SumOrder& order,
              const void* beta, int threads) {
  if (order.count() == 0) return;
  const std::int64_t listed = order.as_listed();
  const bool one_piece = threads == 1 && (listed >= 0 || lists.size() == 1);
  const std::int64_t all = listed >= 0 ? order.count() : std::int64_t(order.runs().size());
  const std::vector<std::int64_t> borders =
      one_piece     ? std::vector<std::int64_t>{0, all}
      : listed >= 0 ? borders_of(lists[std::size_t(listed)])
                    : borders_of(lists, order.runs(), threads == 1 ? sums_in_cache_s : sums_piece_s);
  parallel_each(threads, std::int64_t(borders.size()) - 1, [&](std::int64_t i) {
    const std::int64_t first = borders[std::size_t(i)], last = borders[std::size_t(i) + 1];
    // its arrays are too large for a small stack
    const auto worker = std::make_unique<SumWorker>(lists, codes, beta);
    if (listed >= 0)
      worker->run_listed(listed, first, last);
    else
      worker->run(order.runs().subspan(std::size_t(first), std::size_t(last - first)));
  });
}

}  // namespace tilewright
