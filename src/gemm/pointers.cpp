// Reads each pointer of a batch: faults, overlaps and gathering.
#include "gemm/pointers.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "core/dispatch.hpp"
#include "gemm/operand.hpp"

namespace tilewright {
namespace {

struct Interval {
  const char* begin;
  const char* end;
  std::int64_t problem_index;
};

// Walks the intervals in order of address and keeps the survivor with the furthest end: an interval that
// begins before that end shares bytes with it. Of the two the one with the higher number is marked.
std::vector<Overlap> sweep(std::vector<Interval>& intervals) {
  const std::less<const char*> before;
  std::sort(intervals.begin(), intervals.end(), [&](const Interval& x, const Interval& y) {
    return x.begin != y.begin ? before(x.begin, y.begin) : x.problem_index < y.problem_index;
  });
  std::vector<Overlap> overlaps;
  std::set<std::int64_t> marked;
  const Interval* furthest = nullptr;
  for (const Interval& next : intervals) {
    if (marked.count(next.problem_index) != 0) continue;
    if (furthest == nullptr || !before(next.begin, furthest->end)) {
      furthest = &next;
      continue;
    }
    const auto [low, high] = std::minmax(furthest->problem_index, next.problem_index);
    overlaps.push_back({high, low});
    marked.insert(high);
    if (next.problem_index == low) furthest = &next;
  }
  return overlaps;
}

const void* const* pointers(const void* operand) { return static_cast<const void* const*>(operand); }

template <class T>
std::vector<BadProblem> find_bad_addresses(const GemmProblem& p, const Operands& o,
                                           const ArgumentNames& names) {
  std::vector<BadProblem> bad;
  const bool may_read_ab = reads_ab(p);
  for (std::int64_t i = 0; i < p.batch_count; ++i) {
    const Addresses at{may_read_ab ? pointers(o.a)[i] : nullptr, may_read_ab ? pointers(o.b)[i] : nullptr,
                       pointers(o.c)[i]};
    if (at.are_plainly_right(may_read_ab)) continue;
    const bool reads = may_read_ab && scalar_of<T>(p.alpha, o.alpha, o.alpha_stride, i) != T(0);
    if (const auto fault = address_fault(at, reads, names)) bad.push_back({i, *fault});
  }
  return bad;
}

// Calls f(i) for each problem that is not bad.
template <class F>
void each_good(std::int64_t count, const std::vector<BadProblem>& bad, F&& f) {
  auto next_bad = bad.begin();
  for (std::int64_t i = 0; i < count; ++i)
    if (next_bad != bad.end() && next_bad->index == i)
      ++next_bad;
    else
      f(i);
}

void add_overlaps(const GemmProblem& p, const Operands& o, const ArgumentNames& names,
                  std::vector<BadProblem>& bad) {
  std::vector<Extent> extents;
  each_good(p.batch_count, bad,
            [&](std::int64_t i) { extents.push_back(extent_of(pointers(o.c)[i], p, i)); });
  for (const Overlap& overlap : find_overlaps(extents))
    bad.push_back({overlap.problem_index, overlap_fault(overlap, names)});
  std::sort(bad.begin(), bad.end(),
            [](const BadProblem& x, const BadProblem& y) { return x.index < y.index; });
}

}  // namespace

std::vector<Overlap> find_overlaps(const std::vector<Extent>& extents) {
  std::vector<Interval> intervals;
  intervals.reserve(extents.size());
  for (const Extent& x : extents)
    if (x.cols > 0 && x.column_bytes > 0)
      intervals.push_back({x.begin, x.begin + (x.cols - 1) * x.ld_bytes + x.column_bytes, x.problem_index});
  if (sweep(intervals).empty())
    return {};  // as in nearly every batch; columns are compared only if extents meet
  intervals.clear();
  for (const Extent& x : extents)
    for (std::int64_t j = 0; j < x.cols && x.column_bytes > 0; ++j) {
      const char* begin = x.begin + j * x.ld_bytes;
      intervals.push_back({begin, begin + x.column_bytes, x.problem_index});
    }
  return sweep(intervals);
}

Fault overlap_fault(const Overlap& overlap, const ArgumentNames& names) {
  return {names.c.matrix, names.c.number,
          fmt::format("{} overlaps that of problem {}", names.c.matrix, overlap.other_index)};
}

std::vector<BadProblem> find_bad_problems(const GemmProblem& p, const Operands& operands, bool checked,
                                          const ArgumentNames& names) {
  if (p.m == 0 || p.n == 0 || p.batch_count == 0) return {};
  auto bad = dispatch(p.dtype, [&]<class T>() { return find_bad_addresses<T>(p, operands, names); });
  if (checked) add_overlaps(p, operands, names, bad);
  return bad;
}

GoodProblems::GoodProblems(const GemmProblem& problem, const Operands& operands,
                           const std::vector<BadProblem>& bad)
    : problem_(problem), source_(operands) {
  const std::int64_t size = size_bytes(problem.dtype);
  const auto copy = [&](const void* values, std::int64_t stride, std::int64_t i, std::vector<char>& to) {
    if (stride == 0) return;
    const char* value = static_cast<const char*>(values) + i * size;
    to.insert(to.end(), value, value + size);
  };
  const bool reads = reads_ab(problem);
  each_good(problem.batch_count, bad, [&](std::int64_t i) {
    if (reads) a_.push_back(pointers(operands.a)[i]), b_.push_back(pointers(operands.b)[i]);
    c_.push_back(pointers(operands.c)[i]);
    copy(operands.alpha, operands.alpha_stride, i, alpha_);
    copy(operands.beta, operands.beta_stride, i, beta_);
  });
  problem_.batch_count = std::int64_t(c_.size());
}

Operands GoodProblems::operands() const {
  Operands o = source_;
  o.a = a_.data();
  o.b = b_.data();
  o.c = const_cast<const void**>(c_.data());
  if (o.alpha_stride != 0) o.alpha = alpha_.data();
  if (o.beta_stride != 0) o.beta = beta_.data();
  return o;
}

}  // namespace tilewright
