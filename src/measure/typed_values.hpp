// Values of the four element types as checks of kernels need them: the real type behind one, the wider one
// that references are summed in, random numbers in [-0.5, 0.5), NaN, and an element under an operation.
#pragma once

#include <complex>
#include <limits>
#include <random>
#include <type_traits>

#include "tilewright/types.hpp"

namespace tilewright {

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
// What references are summed in: products of floats are exact, those of doubles have eleven bits more, so
// that the reference's own error is nothing beside that of a kernel.
template <class T>
struct WideOf {
  using type = long double;
};
template <>
struct WideOf<float> {
  using type = double;
};
template <class R>
struct WideOf<std::complex<R>> {
  using type = std::complex<typename WideOf<R>::type>;
};
template <class T>
inline constexpr bool is_pair = !std::is_same_v<T, typename RealOf<T>::type>;

// A value of the type from real and imaginary part; real types have the first alone.
template <class T>
T value_from(double re, double im) {
  using R = typename RealOf<T>::type;
  if constexpr (is_pair<T>)
    return T(static_cast<R>(re), static_cast<R>(im));
  else
    return static_cast<T>(re);
}
template <class T>
T value_from(std::complex<double> value) {
  return value_from<T>(value.real(), value.imag());
}

template <class T>
typename WideOf<T>::type as_wide(T value) {
  return static_cast<typename WideOf<T>::type>(value);
}
// x y + sum as written: the library's product of complex numbers looks for infinities to repair.
template <class W>
W multiply_add(W x, W y, W sum) {
  return x * y + sum;
}
template <class R>
std::complex<R> multiply_add(std::complex<R> x, std::complex<R> y, std::complex<R> sum) {
  return {x.real() * y.real() - x.imag() * y.imag() + sum.real(),
          x.real() * y.imag() + x.imag() * y.real() + sum.imag()};
}

template <class T>
T random_value(std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  const double re = uniform(random);
  return value_from<T>(re, is_pair<T> ? uniform(random) : 0);
}

template <class T>
T nan_value() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return value_from<T>(nan, nan);
}

template <class T>
T conjugated(T value, Op op) {
  if constexpr (is_pair<T>)
    if (op == Op::conj_trans) return std::conj(value);
  return value;
}

// |got - wanted| over its bound (k + 4) eps `size`, where `size` is the sum of |a b| |alpha| and |beta c|;
// above 1 the element is wrong, and far above it where it is NaN. `wanted` may be wider than the element.
template <class T, class W>
double share_of_bound(T got, W wanted, double size, double k) {
  const double unit = std::numeric_limits<typename RealOf<T>::type>::epsilon();
  const auto error = std::abs(as_wide(got) - static_cast<typename WideOf<T>::type>(wanted));
  const double share = static_cast<double>(error) / ((k + 4) * unit * size + 1e-300);
  return share >= 0 ? share : 1e30;
}

}  // namespace tilewright
