// LU in plain loops: the reference factorization, which is the last candidate and ends the recursion of the
// blocked algorithm, and small triangular solves. BLAS libraries multiply by the reciprocals of pivots
// (OpenBLAS's getrf and trsm do), which turns systems of subnormal or huge pivots into infinities, NaN or
// zeros; these loops divide by them.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "core/dispatch.hpp"
#include "core/problem.hpp"

namespace tilewright {

// Overwrites A (m x n) by L and U, right-looking, a column at a time; pivots receives min(m, n) values
// counted from 1. Returns the first zero pivot, counted from 1, or 0.
template <class T>
std::int64_t factor_reference(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, std::int64_t* pivots);

// LAPACK's cabs1, which i?amax compares: |re| + |im| of complex numbers.
template <class T>
RealPart<T> magnitude_1(const T& x) {
  if constexpr (is_complex(dtype_of<T>))
    return std::abs(x.real()) + std::abs(x.imag());
  else
    return std::abs(x);
}

// The larger part of a complex number: unlike the absolute value it never overflows.
template <class T>
RealPart<T> largest_part(const T& x) {
  if constexpr (is_complex(dtype_of<T>))
    return std::max(std::abs(x.real()), std::abs(x.imag()));
  else
    return std::abs(x);
}

// True if x, 1 / x and complex arithmetic's intermediate (twice the larger part squared over it) are normal.
template <class T>
bool has_reciprocal(const T& x) {
  constexpr RealPart<T> least = std::numeric_limits<RealPart<T>>::min();
  const RealPart<T> size = largest_part(x);
  return size >= least && size <= RealPart<T>(0.25) / least;
}

// True for numbers that must be divided by. Zero, infinities and NaN give the same by either operation.
template <class T>
bool must_divide(const T& x) {
  const RealPart<T> size = largest_part(x);
  return size > 0 && size <= std::numeric_limits<RealPart<T>>::max() && !has_reciprocal(x);
}

// True if the diagonal of a triangle has such a number.
template <class T>
bool must_divide(std::int64_t n, const T* a, std::int64_t lda) {
  for (std::int64_t i = 0; i < n; ++i)
    if (must_divide(a[i * (lda + 1)])) return true;
  return false;
}

// True if a product of two reciprocals of the diagonal may overflow or vanish: no products of inverses.
template <class T>
bool is_steep(std::int64_t n, const T* a, std::int64_t lda) {
  const RealPart<T> least = std::sqrt(std::numeric_limits<RealPart<T>>::min());
  for (std::int64_t i = 0; i < n; ++i) {
    const RealPart<T> size = largest_part(a[i * (lda + 1)]);
    if ((size > 0 && size < least) || size > 1 / least) return true;
  }
  return false;
}

template <class T>
T element_of(Op op, const T* a, std::int64_t lda, std::int64_t i, std::int64_t j) {
  if (op == Op::none) return a[j * lda + i];
  const T value = a[i * lda + j];
  if constexpr (is_complex(dtype_of<T>))
    if (op == Op::conj_trans) return std::conj(value);
  return value;
}

// Solves op(A) x = b, a column of B at a time, as xTRSM: final rows of x are eliminated from the others.
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

// Solves X op(A) = B, whole columns of X at a time.
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
