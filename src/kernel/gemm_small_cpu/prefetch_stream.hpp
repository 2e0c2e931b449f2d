// Spreads the prefetches of the next problems over the k loop: each operand has a number of cache lines to
// fetch per problem and every slot of the loop (one column of one k step) takes its even share. Decides how
// many lines fall into a slot; the generator emits them.
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

  // Lines for one slot of straight-line code.
  std::int64_t take() {
    debt_ += rate_;
    const auto lines = std::min<std::int64_t>(static_cast<std::int64_t>(debt_ + 1e-9), remaining_);
    debt_ -= double(lines);
    remaining_ -= lines;
    return lines;
  }

  // Lines per iteration of a loop of `iterations` whose body holds `slots`; the same in each, so rounded up.
  std::int64_t take_loop(std::int64_t slots, std::int64_t iterations) {
    if (remaining_ <= 0) return 0;
    const auto lines = static_cast<std::int64_t>(std::ceil(rate_ * double(slots) - 1e-9));
    remaining_ -= lines * iterations;
    return lines;
  }

  // All lines that are left, for bursts and for what straight-line rounding left over.
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
