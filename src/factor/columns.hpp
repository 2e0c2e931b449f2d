// Arithmetic on columns of one matrix, in plain loops that compilers vectorize.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dispatch.hpp"
#include "lu/reference.hpp"

namespace tilewright {

template <class T>
auto real_of(T x) {
  return std::real(x);
}

// The largest size of a real or imaginary part.
template <class T>
RealPart<T> largest_in_column(const T* x, std::int64_t n) {
  RealPart<T> largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, largest_part(x[i]));
  return largest;
}

// The power of two next below `size`, but one whose inverse is a normal number.
template <class R>
R power_of_two_below(R size) {
  using Limits = std::numeric_limits<R>;
  return std::ldexp(R(1), std::clamp(std::ilogb(size), Limits::min_exponent - 1, Limits::max_exponent - 2));
}

// x^H y
template <class T>
T conjugate_product(const T* x, const T* y, std::int64_t n) {
  using R = RealPart<T>;
  if constexpr (std::is_same_v<T, R>) {
    R sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
  } else {
    R re = 0, im = 0;
    const R* const a = reinterpret_cast<const R*>(x);
    const R* const b = reinterpret_cast<const R*>(y);
#pragma omp simd reduction(+ : re, im)
    for (std::int64_t i = 0; i < n; ++i) {
      re += a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
      im += a[2 * i] * b[2 * i + 1] - a[2 * i + 1] * b[2 * i];
    }
    return {re, im};
  }
}

// y -= factor x
template <class T>
void subtract_multiple(T* y, T factor, const T* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] -= product(factor, x[i]);
}

}  // namespace tilewright
