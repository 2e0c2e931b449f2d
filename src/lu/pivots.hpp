// Which pivots divide as a product with their reciprocal, and which must be divided by. BLAS libraries
// multiply by reciprocals throughout (OpenBLAS's getrf and trsm do), which turns systems of subnormal or huge
// pivots into infinities, NaN or zeros; such systems are computed by loops of our own that divide.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "tilewright/types.hpp"

namespace tilewright {

template <class T>
using RealPart = decltype(std::abs(T()));

// The larger part of a complex number: unlike the absolute value it never overflows.
template <class T>
RealPart<T> largest_part(const T& x) {
  if constexpr (is_complex(dtype_of<T>))
    return std::max(std::abs(x.real()), std::abs(x.imag()));
  else
    return std::abs(x);
}

// True where x, 1 / x and what complex arithmetic computes on the way (twice the square of the larger part
// over it) are normal numbers.
template <class T>
bool has_reciprocal(const T& x) {
  constexpr RealPart<T> least = std::numeric_limits<RealPart<T>>::min();
  const RealPart<T> size = largest_part(x);
  return size >= least && size <= RealPart<T>(0.25) / least;
}

// True for numbers that must be divided by. Zero, infinities and NaN give the same by either operation.
template <class T>
bool must_divide(const T& x) {
  const RealPart<T> size = largest_part(x);
  return size > 0 && size <= std::numeric_limits<RealPart<T>>::max() && !has_reciprocal(x);
}

// True where the diagonal of a triangle has a number that must be divided by.
template <class T>
bool must_divide(std::int64_t n, const T* a, std::int64_t lda) {
  for (std::int64_t i = 0; i < n; ++i)
    if (must_divide(a[i * (lda + 1)])) return true;
  return false;
}

// True where a product of two reciprocals of the diagonal may overflow or vanish, so that an inverse is not
// computed by products of inverses.
template <class T>
bool is_steep(std::int64_t n, const T* a, std::int64_t lda) {
  const RealPart<T> least = std::sqrt(std::numeric_limits<RealPart<T>>::min());
  for (std::int64_t i = 0; i < n; ++i) {
    const RealPart<T> size = largest_part(a[i * (lda + 1)]);
    if ((size > 0 && size < least) || size > 1 / least) return true;
  }
  return false;
}

}  // namespace tilewright
