// Tells whether a thread's calls change among many shapes. Kernels made for one shape each are fast while
// caches of code and branch predictors hold them; among many shapes one kernel for all of them is faster.
#pragma once

#include <bit>
#include <cstdint>

namespace tilewright {

class ShapeVariety {
 public:
  constexpr ShapeVariety() = default;

  // Notes a call of the shape at this place (0 to 63) of a hash table. Returns true if it shall run by the
  // kernel for all shapes: the call before had another shape, and those before it were of many.
  [[gnu::always_inline]] bool meets_many(unsigned place) {
    if (place == last_) return false;
    last_ = place;
    met_ |= std::uint64_t(1) << place;
    if (--left_ == 0) renew();
    return many_;
  }

 private:
  static constexpr std::uint32_t window = 256;  // changes of the shape
  // Some 17 shapes meet so many of the 64 places.
  static constexpr int few_places = 15;

  void renew() {
    many_ = std::popcount(met_) > few_places;
    met_ = 0, left_ = window;
  }

  std::uint64_t met_ = 0;
  std::uint32_t left_ = window, last_ = ~0u;
  bool many_ = false;
};

// True if a call's multiply-adds are so few that fetching code made for its shape costs more than it saves.
constexpr bool is_fleeting(std::int64_t multiply_adds) {
  constexpr std::int64_t most = 16 * 16 * 16;
  return multiply_adds <= most;
}

}  // namespace tilewright
