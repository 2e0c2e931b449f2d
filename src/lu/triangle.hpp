// A small triangular solve in plain loops, where recursion ends.
#pragma once

#include <complex>
#include <cstdint>

#include "core/triangle.hpp"

namespace tilewright {

template <class T>
T element_of(Op op, const T* a, std::int64_t lda, std::int64_t i, std::int64_t j) {
  if (op == Op::none) return a[j * lda + i];
  const T value = a[i * lda + j];
  if constexpr (is_complex(dtype_of<T>))
    if (op == Op::conj_trans) return std::conj(value);
  return value;
}

// op(A) x = b, a column of B at a time, as xTRSM: a row of x that is final is taken out of those behind it.
template <class T>
void solve_left(const Triangle& t, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
                std::int64_t ldb) {
  for (std::int64_t j = 0; j < n; ++j) {
    T* const x = b + j * ldb;
    for (std::int64_t step = 0; step < m; ++step) {
      const std::int64_t k = t.is_lower() ? step : m - 1 - step;
      if (t.diag == Diag::non_unit) x[k] /= element_of(t.op, a, lda, k, k);
      const std::int64_t first = t.is_lower() ? k + 1 : 0, end = t.is_lower() ? m : k;
      for (std::int64_t i = first; i < end; ++i) x[i] -= element_of(t.op, a, lda, i, k) * x[k];
    }
  }
}

// X op(A) = B, whole columns of X at a time.
template <class T>
void solve_right(const Triangle& t, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
                 std::int64_t ldb) {
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t k = t.is_lower() ? n - 1 - step : step;
    T* const x = b + k * ldb;
    if (t.diag == Diag::non_unit) {
      const T pivot = element_of(t.op, a, lda, k, k);
      for (std::int64_t i = 0; i < m; ++i) x[i] /= pivot;
    }
    const std::int64_t first = t.is_lower() ? 0 : k + 1, end = t.is_lower() ? k : n;
    for (std::int64_t j = first; j < end; ++j) {
      const T factor = element_of(t.op, a, lda, k, j);
      for (std::int64_t i = 0; i < m; ++i) b[j * ldb + i] -= x[i] * factor;
    }
  }
}

template <class T>
void solve_small(const Triangle& t, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
                 std::int64_t ldb) {
  t.side == Side::left ? solve_left(t, m, n, a, lda, b, ldb) : solve_right(t, m, n, a, lda, b, ldb);
}

}  // namespace tilewright
