// Strided arrays in memory, and whether they share elements with others or within themselves.
#pragma once

#include <cstdint>
#include <span>

#include "tilewright/types.hpp"

namespace tilewright {

// A strided array; it owns nothing.
struct ArrayView {
  static constexpr int most_dims = 64;  // as NumPy has

  char* data = nullptr;
  DType dtype = DType::f64;
  Location location = Location::host;
  int device = 0;  // the GPU, if location is device
  bool read_only = false;
  bool regular = true;  // false: unaligned, of another byte order, or with strides that split elements
  int ndim = 0;
  std::int64_t shape[most_dims];    // NOLINT: ndim of them are set
  std::int64_t strides[most_dims];  // NOLINT: in elements
};

// The first byte of the view and the one behind its last, equal without elements; saturated.
struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
};
AddressRange range_of(const ArrayView& view);

// True if the address ranges intersect: views that interleave within one range count as overlapping.
bool may_overlap(const ArrayView& x, const ArrayView& y);

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

// True if elements of an array, `item` long, cannot overlap because each stride steps over all that smaller
// ones span, as parts of arrays do with their axes in any order. False, too, if only a search can decide.
bool plainly_apart(std::span<const Step> steps, std::int64_t item);

// True if two elements of one array overlap; false if that would take too long to find.
bool repeats(std::span<const Step> steps, std::int64_t item);

// True if an element of x overlaps one of y; `unknown` if that would take too long to find.
bool share_memory(const Footprint& x, const Footprint& y, bool unknown);

}  // namespace tilewright
