// Decides which arrays share elements, with others and within themselves, whatever their strides are.
#pragma once

#include <cstdint>
#include <span>

#include "core/product/array_view.hpp"

namespace tilewright {

// A dimension: `count` elements, `stride` apart.
struct Step {
  std::int64_t count, stride;
};

// The elements of an array in memory, `item` bytes each.
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

// True if the elements of an array, each as long as `item`, cannot overlap because each stride steps over all
// that smaller ones span, as in parts of arrays with their axes in any order. Also false if only a search
// could decide.
bool plainly_apart(std::span<const Step> steps, std::int64_t item);

// True if two elements of one array overlap; false if that would take too long to find.
bool repeats(std::span<const Step> steps, std::int64_t item);

// True if an element of x overlaps one of y; `unknown` if that would take too long to find.
bool share_memory(const Footprint& x, const Footprint& y, bool unknown);

}  // namespace tilewright
