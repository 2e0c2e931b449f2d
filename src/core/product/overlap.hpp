// Which arrays share elements, with others and within themselves, whatever their strides are.
#pragma once

#include <cstdint>
#include <span>

#include "core/product/array_view.hpp"

namespace tilewright {

// A dimension: `count` elements, `stride` apart.
struct Step {
  std::int64_t count, stride;
};

// Where elements of `item` bytes lie.
struct Footprint {
  std::uintptr_t address = 0;
  std::int64_t item = 1;
  Location location = Location::host;
  int device = 0;
  int ndim = 0;
  Step steps[ArrayView::most_dims];  // NOLINT: ndim of them are set; strides in bytes

  std::span<const Step> dimensions() const { return {steps, std::size_t(ndim)}; }
};

AddressRange range_of(const Footprint& footprint);

// Whether no two elements of an array, each as long as `item`, lie on each other because each stride leads
// over all that smaller ones lead to, as in parts of arrays, their axes in any order. False also for what
// only a search can tell.
bool plainly_apart(std::span<const Step> steps, std::int64_t item);

// Whether two elements of one array lie on each other; false where that would take too long to find.
bool repeats(std::span<const Step> steps, std::int64_t item);

// Whether an element of x and one of y lie on each other; `unknown` where that would take too long to find.
bool share_memory(const Footprint& x, const Footprint& y, bool unknown);

}  // namespace tilewright
