// Values of the four element types as checks of kernels need them: the real type behind one, random numbers
// in [-0.5, 0.5), NaN, and an element under an operation.
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
// above 1 the element is wrong, and far above it where it is NaN.
template <class T>
double share_of_bound(T got, T wanted, double size, double k) {
  const double unit = std::numeric_limits<typename RealOf<T>::type>::epsilon();
  const double share = std::abs(got - wanted) / ((k + 4) * unit * size + 1e-300);
  return share >= 0 ? share : 1e30;
}

}  // namespace tilewright
