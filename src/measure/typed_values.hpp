// Values of the four element types for checks of kernels: their real and wider types, random numbers in
// [-0.5, 0.5), NaN, the exact value of an element of C, and the bound of its error.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "measure/accuracy.hpp"
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
// The type in which references are summed: floats' products are exact, doubles' have eleven bits more.
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

// Makes a value of the type from real and imaginary part; real types take the real part only.
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
// Computes x y + sum as written: the standard library's complex product checks for infinities to repair.
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

// Rows of op(A) or columns of op(B), one after the other, with the absolute values of their elements.
template <class T>
class Strips {
 public:
  Strips(std::int64_t length, std::int64_t count)
      : length_(length), values_(std::size_t(length * count)), sizes_(values_.size()) {}

  std::int64_t length() const { return length_; }
  const T* values(std::int64_t strip) const { return values_.data() + strip * length_; }
  const double* sizes(std::int64_t strip) const { return sizes_.data() + strip * length_; }
  void set(std::int64_t strip, std::int64_t l, T value) {
    const auto at = std::size_t(strip * length_ + l);
    values_[at] = value, sizes_[at] = double(std::abs(value));
  }

 private:
  std::int64_t length_;
  std::vector<T> values_;
  std::vector<double> sizes_;
};

// The exact value of an element of C, and the size to which the bound of its error is proportional.
template <class T>
struct Exact {
  typename WideOf<T>::type value{};
  double size = 0;
};

// Returns value = alpha sum_l a(l) b(l) + beta c and size = |alpha| sum_l |a(l) b(l)| + |beta c| for row i of
// op(A) and column j of op(B). The sum is left out if alpha is 0, and the old C if beta is 0.
template <class T>
Exact<T> exact_element(T alpha, const Strips<T>& a, std::int64_t i, const Strips<T>& b, std::int64_t j,
                       T beta, T c) {
  Exact<T> exact;
  if (alpha != T(0) && a.length() > 0) {  // an empty sum contributes nothing, even if alpha is NaN
    const T *const x = a.values(i), *const y = b.values(j);
    const double *const x_sizes = a.sizes(i), *const y_sizes = b.sizes(j);
    for (std::int64_t l = 0; l < a.length(); ++l) {
      exact.value = multiply_add(as_wide(x[l]), as_wide(y[l]), exact.value);
      exact.size += x_sizes[l] * y_sizes[l];
    }
    exact.value = multiply_add(as_wide(alpha), exact.value, {});
    exact.size *= double(std::abs(alpha));
  }
  if (beta != T(0)) {
    exact.value = multiply_add(as_wide(beta), as_wide(c), exact.value);
    exact.size += double(std::abs(beta)) * double(std::abs(c));
  }
  return exact;
}

template <class R>
bool is_finite(R value) {
  return std::isfinite(value);
}
template <class R>
bool is_finite(std::complex<R> value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

// True for NaN against NaN and for equal infinities. Which parts of a complex number become NaN depends on
// how products are formed, so complex values with any NaN match each other.
template <class R>
bool is_same_beyond_numbers(R got, R exact) {
  return std::isnan(exact) ? std::isnan(got) : got == exact;
}
template <class R>
bool is_same_beyond_numbers(std::complex<R> got, std::complex<R> /*exact*/) {
  return !is_finite(got);
}

// Returns how far a computed element is from the exact one. Its bound is (k + 4) eps size, twice that for
// complex types (Higham 2002, section 3.5, for any order of the sum). If the exact value is not finite in the
// type, the computed one must be the same, and the bound is 0. Not promised if sums of that size overflow.
template <class T>
Deviation deviation(T got, const Exact<T>& exact, std::int64_t k) {
  using Real = std::numeric_limits<typename RealOf<T>::type>;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double eps = double(Real::epsilon()) * (is_pair<T> ? 2 : 1);
  Deviation d{0, double(k + 4) * eps * exact.size + double(Real::min()), 0};
  const T rounded = static_cast<T>(exact.value);
  if (!is_finite(rounded)) {
    d.not_finite = is_same_beyond_numbers(got, rounded);
    if (d.not_finite) return d;
    d.bound = 0;
  } else if (!(exact.size <= double(Real::max()))) {
    d.unbounded = true;
    return d;
  }
  d.error = double(std::abs(as_wide(got) - exact.value));
  d.share = d.error / d.bound;
  if (!(d.share >= 0)) d.share = infinity;
  return d;
}

}  // namespace tilewright
