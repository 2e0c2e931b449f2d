// ArrayView: the description of a strided array as products take it: its address, type, shape, strides and
// memory. It owns nothing.
#pragma once

#include <cstdint>

#include "tilewright/types.hpp"

namespace tilewright {

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

// The first byte that the view touches and the one behind its last; equal if it has no elements. Ranges of
// views beyond the address space saturate.
struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
};
AddressRange range_of(const ArrayView& view);

// True if the address ranges intersect: views that interleave within one range count as overlapping.
bool may_overlap(const ArrayView& x, const ArrayView& y);

}  // namespace tilewright
