// Complex multiplication as every kernel does it: (a + bi)(c + di) = (ac - bd) + (ad + bc)i. The operator of
// std::complex checks for NaN afterwards and turns some results into infinities (C's Annex G), which no
// kernel does.
#pragma once

#include <complex>

namespace tilewright {

template <class T>
constexpr T product(T x, T y) {
  return x * y;
}
template <class R>
constexpr std::complex<R> product(std::complex<R> x, std::complex<R> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

}  // namespace tilewright
