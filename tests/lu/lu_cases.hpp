// Matrices of every kind that LU has to stand, and LAPACK's residual ratios computed by plain loops in a
// wider type.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tilewright/lu.hpp"

namespace tilewright::testing {

template <class T>
using RealOf = decltype(std::abs(T()));

template <class T>
struct WideOf {
  using type = long double;
};
template <class R>
struct WideOf<std::complex<R>> {
  using type = std::complex<long double>;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
T entry(double re, double im) {
  if constexpr (is_complex(dtype_of<T>))
    return T(RealOf<T>(re), RealOf<T>(im));
  else
    return T(re);
}

// Column-major with padding that nothing may touch.
template <class T>
struct LuMatrixOf {
  LuMatrixOf(std::int64_t m, std::int64_t n, std::int64_t padding = 0)
      : rows(m),
        cols(n),
        ld(std::max<std::int64_t>(1, m) + padding),
        data(std::size_t(ld * std::max<std::int64_t>(1, n)), guard()) {}

  static T guard() { return T(-77); }
  T& operator()(std::int64_t i, std::int64_t j) { return data[std::size_t(j * ld + i)]; }
  const T& operator()(std::int64_t i, std::int64_t j) const { return data[std::size_t(j * ld + i)]; }
  bool guards_stand() const {
    for (std::int64_t j = 0; j < cols; ++j)
      for (std::int64_t i = rows; i < ld; ++i)
        if ((*this)(i, j) != guard()) return false;
    return true;
  }

  std::int64_t rows, cols, ld;
  std::vector<T> data;
};

enum class LuKind { random, graded, wilkinson, nearly_singular, singular, equal_magnitudes };
inline constexpr LuKind lu_kinds[]{LuKind::random,          LuKind::graded,   LuKind::wilkinson,
                                   LuKind::nearly_singular, LuKind::singular, LuKind::equal_magnitudes};
inline const char* name_of(LuKind kind) {
  constexpr const char* names[]{"random",          "graded",   "wilkinson",
                                "nearly singular", "singular", "equal magnitudes"};
  return names[int(kind)];
}

template <class T>
LuMatrixOf<T> make_matrix(LuKind kind, std::int64_t m, std::int64_t n, std::int64_t padding = 0,
                          unsigned seed = 7) {
  LuMatrixOf<T> a(m, n, padding);
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      const double re = uniform(generator), im = uniform(generator);
      T value = entry<T>(re, im);
      if (kind == LuKind::graded) value *= T(RealOf<T>(std::pow(10.0, -6.0 * double(i + j) / double(m + n))));
      if (kind == LuKind::equal_magnitudes) value = entry<T>(re < 0 ? -1 : 1, 0);
      // Growth 2^(n - 1), kept within what the residual is measured by.
      if (kind == LuKind::wilkinson) value = T(i == j || j == n - 1 ? 1 : i > j ? -1 : 0);
      a(i, j) = value;
    }
  if (kind == LuKind::singular && n > 2)
    for (std::int64_t i = 0; i < m; ++i) a(i, n / 2) = T(0);
  if (kind == LuKind::nearly_singular && n > 2)
    for (std::int64_t i = 0; i < m; ++i)
      a(i, n / 2) =
          a(i, 0) * (T(1) + T(std::numeric_limits<RealOf<T>>::epsilon()) * entry<T>(double(i % 3), 0));
  return a;
}

template <class T>
double norm_1(const LuMatrixOf<T>& a) {
  double norm = 0;
  for (std::int64_t j = 0; j < a.cols; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) sum += double(std::abs(a(i, j)));
    norm = std::max(norm, sum);
  }
  return norm;
}

template <class T>
double epsilon_of() {
  return double(std::numeric_limits<RealOf<T>>::epsilon());
}

// ||L U - P A|| / (n ||A|| eps), xGET01.
template <class T>
double factor_ratio(LuMatrixOf<T> a, const LuMatrixOf<T>& lu, const std::vector<std::int64_t>& pivots) {
  const std::int64_t count = std::min(a.rows, a.cols);
  const double norm = norm_1(a);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < a.cols; ++j) std::swap(a(i, j), a(pivots[std::size_t(i)] - 1, j));
  double worst = 0;
  for (std::int64_t j = 0; j < a.cols; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) {
      Wide<T> value = -Wide<T>(a(i, j));
      for (std::int64_t k = 0; k <= std::min({i, j, count - 1}); ++k)
        value += (k == i ? Wide<T>(1) : Wide<T>(lu(i, k))) * Wide<T>(lu(k, j));
      sum += double(std::abs(value));
    }
    worst = std::max(worst, sum);
  }
  return worst == 0 ? 0 : worst / (double(std::max<std::int64_t>(1, a.cols)) * norm * epsilon_of<T>());
}

template <class T>
Wide<T> op_element(const LuMatrixOf<T>& a, Op op, std::int64_t i, std::int64_t j) {
  const T value = op == Op::none ? a(i, j) : a(j, i);
  if constexpr (is_complex(dtype_of<T>))
    if (op == Op::conj_trans) return Wide<T>(std::conj(value));
  return Wide<T>(value);
}

// ||op(A) X - B|| / (||A|| ||X|| eps) of the worst column, xGET02; B - A X beside the identity is xGET03's.
template <class T>
double solve_ratio(const LuMatrixOf<T>& a, Op op, const LuMatrixOf<T>& x, const LuMatrixOf<T>& b) {
  double norm = 0;
  for (std::int64_t j = 0; j < a.cols; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) sum += double(std::abs(op_element(a, op, i, j)));
    norm = std::max(norm, sum);
  }
  double worst = 0;
  for (std::int64_t c = 0; c < x.cols; ++c) {
    double residual = 0, size = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) {
      Wide<T> value = -Wide<T>(b(i, c));
      for (std::int64_t k = 0; k < a.cols; ++k) value += op_element(a, op, i, k) * Wide<T>(x(k, c));
      residual += double(std::abs(value));
      size += double(std::abs(x(i, c)));
    }
    if (residual > 0) worst = std::max(worst, residual / (norm * size * epsilon_of<T>()));
  }
  return worst;
}

inline LuOptions lu_options(const std::string& candidate, Target target = Target::cpu, std::int64_t nb = 0) {
  LuOptions options;
  options.candidate = candidate;
  options.target = target;
  options.nb = nb;
  return options;
}

}  // namespace tilewright::testing
