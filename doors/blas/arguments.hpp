// Translates the arguments of BLAS calls to the library's terms: letters and numbers become operations,
// matrices by rows become their transposes by columns, and a bad argument becomes the number that reference
// BLAS gives it.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>

#include "core/product/faults.hpp"
#include "tilewright/types.hpp"

namespace tilewright::blas {

// An Op, or this value if the argument names none.
inline constexpr std::int8_t no_op = -1;

inline std::int8_t op_of_letter(char letter) {
  switch (letter | 0x20) {
    case 'n':
      return std::int8_t(Op::none);
    case 't':
      return std::int8_t(Op::trans);
    case 'c':
      return std::int8_t(Op::conj_trans);
    default:
      return no_op;
  }
}

// These numbers serve CBLAS and BBLAS.
inline constexpr int row_major = 101, col_major = 102, upper = 121, lower = 122;
inline constexpr int non_unit = 131, unit = 132, left = 141, right = 142;
inline std::int8_t op_of_number(int number) {
  return number >= 111 && number <= 113 ? std::int8_t(number - 111) : no_op;
}

// One product as the caller described it, by columns. Nothing is checked yet.
template <class T>
struct GemmArguments {
  std::int8_t op_a, op_b;
  std::int64_t m, n, k;
  T alpha;
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  T beta;
  T* c;
  std::int64_t ldc;

  std::int64_t a_rows() const { return op_a == std::int8_t(Op::none) ? m : k; }
  std::int64_t b_rows() const { return op_b == std::int8_t(Op::none) ? k : n; }
};

// True if a leading dimension is too small for this many rows.
template <class Int>
bool is_short(Int ld, Int rows) {
  return ld < std::max(Int(1), rows);
}

// Applies C^T = op(B)^T op(A)^T: the same memory, read by columns.
template <class T>
GemmArguments<T> transposed(const GemmArguments<T>& x) {
  return {x.op_b, x.op_a, x.n, x.m, x.k, x.alpha, x.b, x.ldb, x.a, x.lda, x.beta, x.c, x.ldc};
}

// Returns the number of the first bad argument of xGEMM, or 0. For a call by rows, `x` is the result of
// transposed().
template <class T>
int gemm_fault(const GemmArguments<T>& x, bool by_rows = false) {
  const ArgumentNames& names = by_rows ? argument_names_by_rows : argument_names;
  return names.number_of(first_bad_argument(x, by_rows, 1));
}

template <class T>
double flops_of(const GemmArguments<T>& x) {
  return (is_complex(dtype_of<T>) ? 8.0 : 2.0) * double(x.m) * double(x.n) * double(x.k);
}

// CBLAS passes real scalars by value and complex ones by address; BBLAS passes all scalars of one problem by
// value.
template <class T>
struct CblasScalar {
  using Type = T;
  using Matrix = T;
  static T value(T x) { return x; }
};
template <class R>
struct CblasScalar<std::complex<R>> {
  using Type = const void*;
  using Matrix = void;
  static std::complex<R> value(const void* x) { return *static_cast<const std::complex<R>*>(x); }
};
template <class T>
using CblasValue = typename CblasScalar<T>::Type;
// The element type that CBLAS declares for matrices: void if complex.
template <class T>
using CblasMatrix = typename CblasScalar<T>::Matrix;

template <class T>
struct RealOf {
  using Type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using Type = R;
};
template <class T>
using Real = typename RealOf<T>::Type;

}  // namespace tilewright::blas
