// The definition of a product: one naive loop in a wider type, element by element, with the bound of its
// rounding errors. It shares no code with the library, so that an error there cannot hide here.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <vector>

#include "tilewright/types.hpp"

namespace tilewright::testing {

// The real type of an element's parts, and the wider types in which the oracle computes.
template <class T>
struct Widened;
template <>
struct Widened<float> {
  using Real = float;
  using WideReal = double;
  using Wide = double;
};
template <>
struct Widened<double> {
  using Real = double;
  using WideReal = long double;
  using Wide = long double;
};
template <class R>
struct Widened<std::complex<R>> {
  using Real = R;
  using WideReal = typename Widened<R>::WideReal;
  using Wide = std::complex<WideReal>;
};

// std::complex multiplication repairs infinities with a library call per product; the oracle multiplies as
// written.
template <class W>
W times(W x, W y) {
  return x * y;
}
template <class R>
std::complex<R> times(std::complex<R> x, std::complex<R> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

template <class T>
T conjugated(T x) {
  return x;
}
template <class R>
std::complex<R> conjugated(std::complex<R> x) {
  return {x.real(), -x.imag()};
}

// One operand of one problem after op, widened, with the magnitudes of its elements. The k index varies
// fastest, so that a dot product walks both operands in order.
template <class T>
struct Gathered {
  std::vector<typename Widened<T>::Wide> value;
  std::vector<typename Widened<T>::WideReal> magnitude;

  void add(T x, bool conjugate) {
    const typename Widened<T>::Wide wide(x);
    value.push_back(conjugate ? conjugated(wide) : wide);
    magnitude.push_back(std::abs(wide));
  }
};

// a(row, col) and b(row, col) read elements as stored.
template <class T, class ReadA>
Gathered<T> gather_a(Op op, std::int64_t m, std::int64_t k, ReadA&& a) {
  Gathered<T> rows;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l) rows.add(op == Op::none ? a(i, l) : a(l, i), op == Op::conj_trans);
  return rows;
}
template <class T, class ReadB>
Gathered<T> gather_b(Op op, std::int64_t n, std::int64_t k, ReadB&& b) {
  Gathered<T> columns;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t l = 0; l < k; ++l)
      columns.add(op == Op::none ? b(l, j) : b(j, l), op == Op::conj_trans);
  return columns;
}

// Sums op(A)(i, l) op(B)(l, j) over l, and the magnitudes of the same terms.
template <class T>
struct Dot {
  typename Widened<T>::Wide value{};
  typename Widened<T>::WideReal magnitude{};
};

template <class T>
Dot<T> dot(const Gathered<T>& a, const Gathered<T>& b, std::int64_t i, std::int64_t j, std::int64_t k) {
  Dot<T> sum;
  for (std::int64_t l = 0; l < k; ++l) {
    const auto x = static_cast<std::size_t>(i * k + l);
    const auto y = static_cast<std::size_t>(j * k + l);
    sum.value += times(a.value[x], b.value[y]);
    sum.magnitude += a.magnitude[x] * b.magnitude[y];
  }
  return sum;
}

// One expected element, and the largest allowed distance of the computed one: c (k + 2) eps times the sum of
// magnitudes (Higham 2002, section 3.5, for any order of summation; a complex product rounds about twice as
// often).
template <class T>
struct Expected {
  typename Widened<T>::Wide value{};
  typename Widened<T>::WideReal bound{};
};

template <class T>
Expected<T> update(T alpha, const Dot<T>& product, T beta, T c, std::int64_t k) {
  using Wide = typename Widened<T>::Wide;
  using Real = typename Widened<T>::Real;
  using WideReal = typename Widened<T>::WideReal;
  constexpr WideReal factor = std::is_same_v<T, Real> ? 1 : 3;
  const WideReal rounding = factor * WideReal(k + 2) * std::numeric_limits<Real>::epsilon();
  Expected<T> e;
  if (alpha != T(0)) {
    e.value = times(Wide(alpha), product.value);
    e.bound = rounding * std::abs(Wide(alpha)) * product.magnitude;
  }
  if (beta != T(0)) {
    e.value += times(Wide(beta), Wide(c));
    e.bound += rounding * std::abs(Wide(beta)) * std::abs(Wide(c));
  }
  return e;
}

}  // namespace tilewright::testing
