// Computes products and systems by plain loops that need no memory: the fallback if memory runs out and
// neither the library nor the program's BLAS can be called. The caller has checked the arguments.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "blas/arguments.hpp"
#include "blas/triangle_arguments.hpp"

namespace tilewright::blas {

template <class T>
T conjugate(const T& value) {
  if constexpr (is_complex(dtype_of<T>))
    return std::conj(value);
  else
    return value;
}

// Returns element (row, column) of op(X).
template <class T>
T element_of(const T* x, std::int64_t ld, std::int8_t op, std::int64_t row, std::int64_t column) {
  const T value = op == std::int8_t(Op::none) ? x[column * ld + row] : x[row * ld + column];
  return op == std::int8_t(Op::conj_trans) ? conjugate(value) : value;
}

// Computes one element of alpha op(A) op(B) + beta C.
template <class T, class Arguments>
T plain_element(const Arguments& x, std::int64_t i, std::int64_t j, const T& old) {
  T sum{};
  if (x.alpha != T(0)) {
    for (std::int64_t l = 0; l < x.k; ++l)
      sum += element_of(x.a, x.lda, x.op_a, i, l) * element_of(x.b, x.ldb, x.op_b, l, j);
    sum *= x.alpha;
  }
  return x.beta == T(0) ? sum : sum + x.beta * old;
}

template <class T>
void multiply_plainly(const GemmArguments<T>& x) {
  for (std::int64_t j = 0; j < x.n; ++j)
    for (std::int64_t i = 0; i < x.m; ++i) {
      T& c = x.c[j * x.ldc + i];
      c = plain_element(x, i, j, c);
    }
}

template <class T>
void multiply_plainly(const TriangleArguments<T>& x) {
  for (std::int64_t j = 0; j < x.n; ++j)
    for (std::int64_t i = x.is_upper ? 0 : j; i < (x.is_upper ? j + 1 : x.n); ++i) {
      T& c = x.c[j * x.ldc + i];
      const bool is_real = x.is_hermitian && i == j;
      c = plain_element<T>(x, i, j, is_real ? T(std::real(c)) : c);
      if (is_real) c = std::real(c);
    }
}

// Factors P A = L U like xGETRF; returns its info.
template <class T, class Int>
Int factor_plainly(Int m, Int n, T* a, Int lda, Int* pivots) {
  const auto at = [&](std::int64_t i, std::int64_t j) -> T& { return a[j * lda + i]; };
  // LAPACK chooses pivots by this size.
  const auto size = [](const T& x) { return std::abs(std::real(x)) + std::abs(std::imag(x)); };
  Int info = 0;
  for (Int j = 0; j < std::min(m, n); ++j) {
    Int pivot = j;
    for (Int i = j + 1; i < m; ++i)
      if (size(at(i, j)) > size(at(pivot, j))) pivot = i;
    pivots[j] = pivot + 1;
    if (at(pivot, j) == T(0)) {
      if (info == 0) info = j + 1;
      continue;
    }
    for (Int l = 0; pivot != j && l < n; ++l) std::swap(at(j, l), at(pivot, l));
    for (Int i = j + 1; i < m; ++i) at(i, j) /= at(j, j);
    for (Int l = j + 1; l < n; ++l)
      for (Int i = j + 1; i < m; ++i) at(i, l) -= at(i, j) * at(j, l);
  }
  return info;
}

// Solves op(A) X = B with the factors, like xGETRS.
template <class T, class Int>
void solve_plainly(std::int8_t op, Int n, Int nrhs, const T* lu, Int lda, const Int* pivots, T* b, Int ldb) {
  const bool as_is = op == std::int8_t(Op::none);
  const auto at = [&](std::int64_t i, std::int64_t j) { return element_of(lu, lda, op, i, j); };
  for (Int c = 0; c < nrhs; ++c) {
    T* const x = b + std::int64_t(c) * ldb;
    for (Int i = 0; as_is && i < n; ++i) std::swap(x[i], x[pivots[i] - 1]);
    // The transpose starts with its lower factor U^T, whose diagonal is not 1.
    for (Int i = 0; i < n; ++i) {
      for (Int l = 0; l < i; ++l) x[i] -= at(i, l) * x[l];
      if (!as_is) x[i] /= at(i, i);
    }
    for (Int i = n; i-- > 0;) {
      for (Int l = i + 1; l < n; ++l) x[i] -= at(i, l) * x[l];
      if (as_is) x[i] /= at(i, i);
    }
    for (Int i = n; !as_is && i-- > 0;) std::swap(x[i], x[pivots[i] - 1]);
  }
}

// op(A) X = alpha B or X op(A) = alpha B by columns, with a triangular A; X overwrites B, m x n.
template <class T>
struct TriangularSystem {
  Side side;
  Uplo uplo;
  Op op;
  Diag diag;
  std::int64_t m, n;
  T alpha;
  std::int64_t lda, ldb;

  std::int64_t order() const { return side == Side::left ? m : n; }
};

// Solves one like xTRSM, for each vector of X that A acts on: a column, or with A on the right a row.
template <class T>
void solve_triangle_plainly(const TriangularSystem<T>& x, const T* a, T* b) {
  const bool on_left = x.side == Side::left;
  // Element (i, l) of the matrix that acts on the vector from the left.
  const auto at = [&](std::int64_t i, std::int64_t l) {
    return on_left ? element_of(a, x.lda, std::int8_t(x.op), i, l)
                   : element_of(a, x.lda, std::int8_t(x.op), l, i);
  };
  const bool is_lower = ((x.uplo == Uplo::lower) == (x.op == Op::none)) == on_left;
  const std::int64_t order = x.order(), step = on_left ? 1 : x.ldb, next = on_left ? x.ldb : 1;
  for (std::int64_t v = 0; v < (on_left ? x.n : x.m); ++v) {
    T* const vector = b + v * next;
    for (std::int64_t turn = 0; turn < order; ++turn) {
      const std::int64_t i = is_lower ? turn : order - 1 - turn;
      T sum = x.alpha == T(0) ? T(0) : x.alpha * vector[i * step];
      for (std::int64_t done = 0; done < turn && x.alpha != T(0); ++done) {
        const std::int64_t l = is_lower ? done : order - 1 - done;
        sum -= at(i, l) * vector[l * step];
      }
      if (x.diag == Diag::non_unit && x.alpha != T(0)) sum /= at(i, i);
      vector[i * step] = sum;
    }
  }
}

}  // namespace tilewright::blas
