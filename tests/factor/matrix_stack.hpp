// Stacks of matrices of the tests of batched factorizations, and residuals of their solutions.
#pragma once

#include <algorithm>
#include <complex>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "factor/factor_cases.hpp"

namespace tilewright::testing {

// A stack of `count` column-major matrices.
template <class T>
struct MatrixStack {
  std::int64_t rows, cols, count;
  std::vector<T> data;

  MatrixStack(std::int64_t r, std::int64_t c, std::int64_t n)
      : rows(r), cols(c), count(n), data(std::size_t(r * c * n)) {}
  T& at(std::int64_t p, std::int64_t i, std::int64_t j) {
    return data[std::size_t((p * cols + j) * rows + i)];
  }
  const T& at(std::int64_t p, std::int64_t i, std::int64_t j) const {
    return data[std::size_t((p * cols + j) * rows + i)];
  }
  StridedBatch<T> view() {
    return {{data.data(), rows, cols, std::max<std::int64_t>(1, rows)}, rows * cols, count};
  }
  StridedBatch<const T> read() const {
    return {{data.data(), rows, cols, std::max<std::int64_t>(1, rows)}, rows * cols, count};
  }
};

template <class T>
MatrixStack<T> random_matrices(std::int64_t rows, std::int64_t cols, std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  MatrixStack<T> stack(rows, cols, count);
  for (T& x : stack.data) {
    if constexpr (std::is_floating_point_v<T>)
      x = T(normal(generator));
    else
      x = T(RealOf<T>(normal(generator)), RealOf<T>(normal(generator)));
  }
  return stack;
}

// B B^H + n I
template <class T>
MatrixStack<T> positive_matrices(std::int64_t n, std::int64_t count, unsigned seed) {
  const MatrixStack<T> b = random_matrices<T>(n, n, count, seed);
  MatrixStack<T> a(n, n, count);
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T sum = i == j ? T(RealOf<T>(n)) : T(0);
        for (std::int64_t k = 0; k < n; ++k) sum += b.at(p, i, k) * conj_value(b.at(p, j, k));
        a.at(p, i, j) = i == j ? T(std::real(sum)) : sum;
      }
  return a;
}

// The largest |op(A) X - alpha B| / (|op(A)| |X| n eps) of any element, with op(A) by `element`.
template <class T, class Element>
double ratio_of(std::int64_t order, const MatrixStack<T>& x, const MatrixStack<T>& b, const Element& element,
                T alpha = T(1)) {
  double worst = 0;
  for (std::int64_t p = 0; p < b.count; ++p)
    for (std::int64_t j = 0; j < b.cols; ++j)
      for (std::int64_t i = 0; i < b.rows; ++i) {
        T sum(0);
        double size = std::numeric_limits<double>::min();
        for (std::int64_t k = 0; k < order; ++k) {
          const T term = element(p, i, j, k, x);
          sum += term, size += std::abs(term);
        }
        worst = std::max(worst, double(std::abs(sum - alpha * b.at(p, i, j))) / size / double(order) /
                                    double(std::numeric_limits<RealOf<T>>::epsilon()));
      }
  return worst;
}
template <class T>
double ratio_of(const MatrixStack<T>& a, const MatrixStack<T>& x, const MatrixStack<T>& b, Op op = Op::none) {
  return ratio_of<T>(
      a.rows, x, b,
      [&](std::int64_t p, std::int64_t i, std::int64_t j, std::int64_t k, const MatrixStack<T>& y) {
        const T value = op == Op::none    ? a.at(p, i, k)
                        : op == Op::trans ? a.at(p, k, i)
                                          : conj_value(a.at(p, k, i));
        return value * y.at(p, k, j);
      });
}

template <class T>
MatrixStack<T> unit_matrices(std::int64_t n, std::int64_t count) {
  MatrixStack<T> unit(n, n, count);
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t i = 0; i < n; ++i) unit.at(p, i, i) = T(1);
  return unit;
}

}  // namespace tilewright::testing
