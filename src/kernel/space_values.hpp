// The sources of values for the axes of a Space, and the reports of its constraints: ranges, closures and
// containers walked alike, and the table of what each constraint removed. Nothing here knows a config.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tilewright/types.hpp"

namespace tilewright {

// Returns first, first + step, ... up to and including last; a negative step counts down. The result is a
// closure: each call returns the next value, and nothing at the end.
template <class V>
struct Range {
  V next;
  V last;
  V step;

  std::optional<V> operator()() {
    if (step > 0 ? next > last : next < last) return std::nullopt;
    const V value = next;
    next = static_cast<V>(next + step);
    return value;
  }
};
template <class V>
Range<V> range(V first, std::type_identity_t<V> last, std::type_identity_t<V> step = 1) {
  if (step == 0)
    throw Error(ErrorCode::invalid_argument, "step",
                fmt::format("step = 0: the range from {} to {} would never end", first, last));
  return {first, last, step};
}

// Passes the values of a closure or a container to `step` until it returns false; returns false in that case.
template <class Source, class F>
bool for_each_value(Source source, F&& step) {
  if constexpr (std::invocable<Source&>) {
    while (const auto value = source())
      if (!step(*value)) return false;
  } else {
    for (const auto& value : source)
      if (!step(value)) return false;
  }
  return true;
}

// Counts of a constraint in one walk over the space.
struct Removed {
  std::string reason;
  std::string after;        // the axis whose binding made the check possible; "" = before the first
  std::uint64_t asked = 0;  // branches that reached the constraint
  std::uint64_t cut = 0;    // branches that ended there
};

// Formats one line per constraint: how many branches it cut of those it checked, where, and why.
inline std::string to_text(const std::vector<Removed>& removed) {
  std::string text;
  for (const Removed& r : removed)
    text += fmt::format("{:>14} of {:>14} branches cut {}: {}\n", r.cut, r.asked,
                        r.after.empty() ? "at the start" : "after " + r.after, r.reason);
  return text;
}

}  // namespace tilewright
