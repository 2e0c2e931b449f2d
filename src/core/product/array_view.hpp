// ArrayView: an array of any strides as products see it, whoever owns it: where it begins, its type, shape
// and strides, and the memory it lies in. It owns nothing.
#pragma once

#include <cstdint>

#include "tilewright/types.hpp"

namespace tilewright {

struct ArrayView {
  static constexpr int most_dims = 64;  // as NumPy has

  char* data = nullptr;
  DType dtype = DType::f64;
  Location location = Location::host;
  int device = 0;  // the GPU, where location is device
  bool read_only = false;
  bool regular = true;  // false: unaligned, of another byte order, or with strides that split elements
  int ndim = 0;
  std::int64_t shape[most_dims];    // NOLINT: ndim of them are set
  std::int64_t strides[most_dims];  // NOLINT: in elements
};

// The first byte that the view touches and the one behind its last; equal where it has no elements. Ranges of
// views whose sizes are beyond the address space saturate.
struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
};
AddressRange range_of(const ArrayView& view);

// Whether bytes of both may be the same: views that interleave within one range count as such.
bool may_overlap(const ArrayView& x, const ArrayView& y);

}  // namespace tilewright
