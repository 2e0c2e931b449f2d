// Pieces of whole sums for threads; within a piece list by list, so that each kernel is called for many
// products at once. A kernel is given arrays of addresses, filled some hundred products at a time.
#include "gemm/sums/run.hpp"

#include <algorithm>
#include <array>

#include "gemm/cpu_small/engine.hpp"
#include "gemm/parallel.hpp"
#include "gemm/run/scale.hpp"

namespace tilewright {
namespace {

// Addresses for kernels. A run that does not fit is moved to the next filling, and cut only where it fills a
// whole one: where sums are cut depends on the sums alone. A multiple of what kernels take in one pass; not 4
// KiB, so that the arrays do not share the sets of a cache.
constexpr std::size_t capacity = 480;

// What one thread does of a call.
class SumWorker {
 public:
  SumWorker(std::span<const SumList> lists, std::span<const SumCode> codes, const void* beta)
      : lists_(lists), codes_(codes), beta_(beta) {}

  // Products first ... last - 1 of a list that is in order: whole sums.
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

  // How many of the first `count` addresses belong to runs that end there, if `next` comes behind them; all,
  // where they are one run.
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

  // The products of a run have one C, or those of each C follow one another. A run begins all of its sums, or
  // goes on with one.
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

  // Runs with one C follow one another here too: they are one run to the kernel.
  template <class At>
  void fill(std::span<const SumRun> runs, At&& at) {
    std::size_t count = 0;  // of what is filled in
    bool begins = true;     // the sums of that, but for a first run that was cut
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

  // Calls kernels for what is filled in; the last run stays if `next`, the C of what comes, goes on with it.
  // Returns how many products stay.
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
  bool goes_on_ = false;  // the first run of what is filled in, which was cut
};

// Where pieces of a list that is in order begin, and its end.
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

// The same of runs.
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
    // Its arrays are too large for a small stack.
    const auto worker = std::make_unique<SumWorker>(lists, codes, beta);
    if (listed >= 0)
      worker->run_listed(listed, first, last);
    else
      worker->run(order.runs().subspan(std::size_t(first), std::size_t(last - first)));
  });
}

}  // namespace tilewright
