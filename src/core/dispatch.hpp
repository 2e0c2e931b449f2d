// Element types: from a DType to a C++ type, dispatch(dtype, [&]<class T>() { ... }), and their product.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>
#include <utility>

#include "tilewright/types.hpp"

// Explicit instantiations for every element type: TILEWRIGHT_FOR_TYPES(X) expands X(T) for each T.
#define TILEWRIGHT_FOR_TYPES(X) X(float) X(double) X(std::complex<float>) X(std::complex<double>)

namespace tilewright {

template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    case DType::c64:
      return f.template operator()<std::complex<float>>();
    case DType::c128:
      return f.template operator()<std::complex<double>>();
  }
  throw Error(ErrorCode::internal, "dtype", "dtype is invalid (expected f32, f64, c64 or c128)");
}

template <class T>
using RealPart = decltype(std::abs(T()));

template <class T>
T conj_of(T x) {
  if constexpr (std::is_same_v<T, RealPart<T>>)
    return x;
  else
    return std::conj(x);
}

// The product that every kernel computes: (a + bi)(c + di) = (ac - bd) + (ad + bc)i. The operator of
// std::complex turns some NaN into infinities (C's Annex G), which no kernel does.
template <class T>
constexpr T product(T x, T y) {
  return x * y;
}
template <class R>
constexpr std::complex<R> product(std::complex<R> x, std::complex<R> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

}  // namespace tilewright
