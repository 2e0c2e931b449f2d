// Two passes: whole extents first, which settles nearly every batch, and columns only when extents meet.
#include "gemm/overlap.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace tilewright {
namespace {

struct Interval {
  const char* begin;
  const char* end;
  std::int64_t problem_index;
};

// Walks the intervals in order of address beside the survivor that reaches furthest: whatever begins before
// its end shares bytes with it, and of the two the higher number is marked and the lower stays.
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

}  // namespace

std::vector<Overlap> find_overlaps(const std::vector<Extent>& extents) {
  std::vector<Interval> intervals;
  intervals.reserve(extents.size());
  for (const Extent& x : extents)
    if (x.cols > 0 && x.column_bytes > 0)
      intervals.push_back({x.begin, x.begin + (x.cols - 1) * x.ld_bytes + x.column_bytes, x.problem_index});
  if (sweep(intervals).empty()) return {};
  intervals.clear();
  for (const Extent& x : extents)
    for (std::int64_t j = 0; j < x.cols && x.column_bytes > 0; ++j) {
      const char* begin = x.begin + j * x.ld_bytes;
      intervals.push_back({begin, begin + x.column_bytes, x.problem_index});
    }
  return sweep(intervals);
}

}  // namespace tilewright
