// Two elements coincide if a sum of multiples of strides is (nearly) a given number: a bounded linear
// Diophantine equation. The search goes from the largest stride to the smallest and tries only the multiples
// that the smaller ones can compensate.
#include "core/product/overlap.hpp"

#include <algorithm>
#include <utility>

namespace tilewright {
namespace {

using Wide = __int128;  // strides and counts of views may be anything

constexpr int most_terms = 2 * ArrayView::most_dims;
constexpr int most_tries = 10000;

// The unknown of one stride: x * stride with low <= x <= high.
struct Term {
  std::int64_t stride, low, high;
};

Wide down(Wide x, Wide by) { return x >= 0 ? x / by : -((-x + by - 1) / by); }
Wide up(Wide x, Wide by) { return -down(-x, by); }

class Search {
 public:
  void add(std::int64_t count, std::int64_t stride, bool subtracted, bool both) {
    if (count < 2 || stride == 0) return;
    std::int64_t low = both || subtracted ? 1 - count : 0, high = both || !subtracted ? count - 1 : 0;
    if (stride < 0) stride = -stride, std::swap(low = -low, high = -high);
    for (int i = 0; i < count_ && !both; ++i) {
      if (terms_[i].stride != stride) continue;
      terms_[i].low += low, terms_[i].high += high;
      return;
    }
    terms_[count_++] = {stride, low, high};
  }
  // Returns true if a sum lies in [low, high]; with `zero`, the sum of zero multiples alone counts too.
  // Returns `unknown` if the search takes too long.
  bool finds(Wide low, Wide high, bool zero, bool unknown) {
    std::sort(terms_, terms_ + count_, [](const Term& x, const Term& y) { return x.stride > y.stride; });
    least_[count_] = most_[count_] = 0;
    for (int i = count_ - 1; i >= 0; --i) {
      least_[i] = least_[i + 1] + Wide(terms_[i].low) * terms_[i].stride;
      most_[i] = most_[i + 1] + Wide(terms_[i].high) * terms_[i].stride;
    }
    const bool found = from(0, low, high, zero);
    return found || (tries_ > most_tries && unknown);
  }

 private:
  bool from(int i, Wide low, Wide high, bool done) {
    if (i == count_) return done && low <= 0 && 0 <= high;
    const Term& term = terms_[i];
    const Wide first = std::max<Wide>(term.low, up(low - most_[i + 1], term.stride));
    const Wide last = std::min<Wide>(term.high, down(high - least_[i + 1], term.stride));
    for (Wide x = first; x <= last; ++x) {
      if (++tries_ > most_tries) return false;
      if (from(i + 1, low - x * term.stride, high - x * term.stride, done || x != 0)) return true;
    }
    return false;
  }

  int count_ = 0, tries_ = 0;
  Term terms_[most_terms];                             // NOLINT: count_ of them are set
  Wide least_[most_terms + 1], most_[most_terms + 1];  // NOLINT: range of the sums of the terms from here on
};

// step_of(i) returns the count and the stride, in bytes, of dimension i.
template <class StepOf>
AddressRange range_from(std::uintptr_t address, std::int64_t item, int ndim, StepOf step_of) {
  Wide low = 0, high = item;
  for (int i = 0; i < ndim; ++i) {
    const auto [count, stride] = step_of(i);
    if (count == 0) return {address, address};
    const Wide reach = Wide(count - 1) * stride;
    (reach < 0 ? low : high) += reach;
  }
  const auto at = [&](Wide offset) {
    return std::uintptr_t(std::clamp<Wide>(Wide(address) + offset, 0, UINTPTR_MAX));
  };
  return {at(low), at(high)};
}

}  // namespace

AddressRange range_of(const ArrayView& view) {
  const std::int64_t size = size_bytes(view.dtype);
  return range_from(reinterpret_cast<std::uintptr_t>(view.data), size, view.ndim,
                    [&](int i) { return std::pair(view.shape[i], Wide(view.strides[i]) * size); });
}

AddressRange range_of(const Footprint& x) {
  return range_from(x.address, x.item, x.ndim,
                    [&](int i) { return std::pair(x.steps[i].count, x.steps[i].stride); });
}

bool may_overlap(const ArrayView& x, const ArrayView& y) {
  if (x.location != y.location) return false;
  const AddressRange a = range_of(x), b = range_of(y);
  return a.begin < b.end && b.begin < a.end;
}

bool plainly_apart(std::span<const Step> steps, std::int64_t item) {
  Step sorted[ArrayView::most_dims];  // NOLINT: count of them are set
  int count = 0;
  for (const Step& step : steps) {
    if (step.count == 0) return true;
    if (step.count > 1) sorted[count++] = {step.count, step.stride < 0 ? -step.stride : step.stride};
  }
  std::sort(sorted, sorted + count, [](const Step& x, const Step& y) { return x.stride < y.stride; });
  Wide reach = item;  // the bytes that the smaller strides span together
  for (int i = 0; i < count; ++i) {
    if (sorted[i].stride < reach) return false;
    reach += Wide(sorted[i].count - 1) * sorted[i].stride;
  }
  return true;
}

bool repeats(std::span<const Step> steps, std::int64_t item) {
  if (plainly_apart(steps, item)) return false;
  Search search;
  for (const Step& step : steps) {
    if (step.count > 1 && step.stride < item && -step.stride < item) return true;
    search.add(step.count, step.stride, false, true);
  }
  return search.finds(1 - item, item - 1, false, false);
}

bool share_memory(const Footprint& x, const Footprint& y, bool unknown) {
  if (x.location != y.location || x.device != y.device) return false;
  const AddressRange a = range_of(x), b = range_of(y);
  if (a.begin >= a.end || b.begin >= b.end || a.begin >= b.end || b.begin >= a.end) return false;
  Search search;
  for (const Step& step : x.dimensions()) search.add(step.count, step.stride, false, false);
  for (const Step& step : y.dimensions()) search.add(step.count, step.stride, true, false);
  const Wide between = Wide(y.address) - Wide(x.address);
  return search.finds(between + 1 - x.item, between + y.item - 1, true, unknown);
}

}  // namespace tilewright
