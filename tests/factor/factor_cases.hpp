// Batches that orthogonal decompositions have to stand, in either order, and norms of residuals in a wider
// type.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "lu/lu_cases.hpp"
#include "tilewright/factor.hpp"

namespace tilewright::testing {

template <class T>
T conj_value(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return std::conj(x);
}
// The matrices of a batch, one after the other, by columns or by rows.
template <class T>
struct Problems {
  Problems(std::int64_t m, std::int64_t n, std::int64_t count_, bool by_rows_ = false)
      : rows(m), cols(n), count(count_), by_rows(by_rows_), data(std::size_t(m * n * count_)) {}

  T& operator()(std::int64_t p, std::int64_t i, std::int64_t j) {
    return data[std::size_t(p * rows * cols + (by_rows ? i * cols + j : j * rows + i))];
  }
  const T& operator()(std::int64_t p, std::int64_t i, std::int64_t j) const {
    return const_cast<Problems&>(*this)(p, i, j);
  }
  MatrixBatch<T> batch() {
    MatrixBatch<T> all;
    all.data = data.data(), all.rows = rows, all.cols = cols;
    all.row_stride = by_rows ? cols : 1, all.col_stride = by_rows ? 1 : rows;
    all.level_count = 1, all.levels[0] = {count, std::max<std::int64_t>(1, rows * cols)};
    return all;
  }

  std::int64_t rows, cols, count;
  bool by_rows;
  std::vector<T> data;
};

template <class T>
Problems<T> unit_problems(std::int64_t n, std::int64_t count, bool by_rows = false) {
  Problems<T> unit(n, n, count, by_rows);
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t i = 0; i < n; ++i) unit(p, i, i) = T(1);
  return unit;
}

enum class FactorKind { random, graded, deficient, zero, huge, tiny };
inline constexpr FactorKind factor_kinds[]{FactorKind::random, FactorKind::graded, FactorKind::deficient,
                                           FactorKind::zero,   FactorKind::huge,   FactorKind::tiny};
inline const char* name_of(FactorKind kind) {
  constexpr const char* names[]{"random", "graded", "deficient", "zero", "huge", "tiny"};
  return names[int(kind)];
}

template <class T>
Problems<T> make_problems(FactorKind kind, std::int64_t m, std::int64_t n, std::int64_t count,
                          bool by_rows = false, unsigned seed = 3) {
  using R = RealOf<T>;
  using Limits = std::numeric_limits<R>;
  Problems<T> a(m, n, count, by_rows);
  std::mt19937 generator(seed + unsigned(m * 100 + n));
  std::uniform_real_distribution<R> uniform(-1, 1);
  const R factor = kind == FactorKind::huge   ? Limits::max() / R(32 * (m + n))
                   : kind == FactorKind::tiny ? Limits::min() * R(8)
                                              : R(1);
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        T x = T(uniform(generator));
        if constexpr (!std::is_floating_point_v<T>) x = T(x.real(), uniform(generator));
        if (kind == FactorKind::graded) x *= std::pow(R(10), -R(8) * R(i + j) / R(m + n));
        a(p, i, j) = kind == FactorKind::zero ? T(0) : x * factor;
      }
  if (kind == FactorKind::deficient)
    for (std::int64_t p = 0; p < count; ++p)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 1; j < n; j += 2) a(p, i, j) = j % 4 == 1 ? a(p, i, j - 1) : T(0);
  return a;
}

// The largest sum of a column's sizes, of problem p; f gives its elements.
template <class F>
long double column_sum(std::int64_t rows, std::int64_t cols, F&& f) {
  long double worst = 0;
  for (std::int64_t j = 0; j < cols; ++j) {
    long double sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) sum += std::abs(f(i, j));
    worst = std::isnan(sum) ? sum : std::max(worst, sum);
  }
  return worst;
}
template <class T>
long double norm_of(const Problems<T>& a, std::int64_t p) {
  return column_sum(a.rows, a.cols, [&](std::int64_t i, std::int64_t j) { return Wide<T>(a(p, i, j)); });
}

// How far the columns of Q are from orthonormal, of the worst problem: ||Q^H Q - I|| / (m eps), xORT01.
template <class T>
long double orthogonality(const Problems<T>& q) {
  long double worst = 0;
  for (std::int64_t p = 0; p < q.count; ++p) {
    const long double norm = column_sum(q.cols, q.cols, [&](std::int64_t i, std::int64_t j) {
      Wide<T> sum(i == j ? -1 : 0);
      for (std::int64_t k = 0; k < q.rows; ++k) sum += Wide<T>(conj_value(q(p, k, i))) * Wide<T>(q(p, k, j));
      return sum;
    });
    worst = std::isnan(norm) ? norm : std::max(worst, norm);
  }
  return worst / (static_cast<long double>(std::max<std::int64_t>(1, q.rows)) * epsilon_of<T>());
}

}  // namespace tilewright::testing
