// Which pivots divide as a product with their reciprocal, and which matrices may have others. BLAS libraries
// multiply by reciprocals throughout (OpenBLAS's getrf and trsm do), which turns systems of subnormal or huge
// pivots into infinities, NaN or zeros; such systems are computed by loops of our own that divide.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "gemm/parallel.hpp"
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

// True where an element is so small or so large that a pivot may become one that must be divided by. Pivots
// are elements of A less products of two elements that are each at most |A| or 1: hence the margin on the
// lower side.
template <class T>
bool may_have_such_pivots(int threads, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda) {
  using R = RealPart<T>;
  using Limits = std::numeric_limits<R>;
  constexpr std::int64_t parts = is_complex(dtype_of<T>) ? 2 : 1, elements_of_thread = 1 << 16;
  const R low = std::ldexp(R(1), Limits::min_exponent * 3 / 5);
  const R high = std::ldexp(R(1), Limits::max_exponent * 9 / 10);
  std::atomic<bool> found{false};
  parallel_ranges(threads, n, std::max<std::int64_t>(1, elements_of_thread / m),
                  [&](std::int64_t first, std::int64_t count) {
                    for (std::int64_t j = first; j < first + count; ++j) {
                      const R* const x = reinterpret_cast<const R*>(a + j * lda);
                      int extreme = 0;
                      for (std::int64_t i = 0; i < m * parts; ++i) {
                        const R size = std::abs(x[i]);
                        extreme |= (int(size > 0) & int(size < low)) |
                                   (int(size > high) & int(size <= Limits::max()));
                      }
                      if (extreme != 0) return found.store(true, std::memory_order_relaxed);
                    }
                  });
  return found;
}

}  // namespace tilewright
