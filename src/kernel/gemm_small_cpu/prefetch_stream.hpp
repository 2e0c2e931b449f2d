// Spreads prefetches of the next problems over the k loop: each column of each k step gets an even share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tilewright::columns {

class PrefetchStream {
 public:
  PrefetchStream() = default;
  PrefetchStream(std::int64_t lines, std::int64_t slots)
      : remaining_(lines), rate_(slots > 0 ? double(lines) / double(slots) : 0) {}

  // Returns the lines of one slot of straight-line code.
  std::int64_t take() {
    debt_ += rate_;
    const auto lines = std::min<std::int64_t>(static_cast<std::int64_t>(debt_ + 1e-9), remaining_);
    debt_ -= double(lines);
    remaining_ -= lines;
    return lines;
  }

  // Returns the lines per iteration of a loop of `iterations` with `slots` slots, rounded up.
  std::int64_t take_loop(std::int64_t slots, std::int64_t iterations) {
    if (remaining_ <= 0) return 0;
    const auto lines = static_cast<std::int64_t>(std::ceil(rate_ * double(slots) - 1e-9));
    remaining_ -= lines * iterations;
    return lines;
  }

  // Returns all remaining lines: for bursts, and for the rest of rounding.
  std::int64_t take_all() {
    const auto lines = std::max<std::int64_t>(remaining_, 0);
    remaining_ = 0;
    return lines;
  }

 private:
  std::int64_t remaining_ = 0;
  double rate_ = 0;
  double debt_ = 0;
};

}  // namespace tilewright::columns
