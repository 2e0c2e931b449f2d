// Shared by tests of the BLAS names: the library, opened like a program's plug-in; matrices by columns or
// rows with padding that must not be written; and products in plain loops.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "blas/names.hpp"

namespace tilewright::blas_tests {

// Returns a symbol of libtilewright_blas, which is opened once and whose names no other library sees.
inline void* symbol(const char* name) {
  static void* const library = dlopen(TILEWRIGHT_BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) ADD_FAILURE() << dlerror();
  void* address = library == nullptr ? nullptr : dlsym(library, name);
  if (address == nullptr) ADD_FAILURE() << name << " is missing";
  return address;
}
template <class Signature>
Signature* routine(const char* name) {
  return reinterpret_cast<Signature*>(symbol(name));
}

// Calls f<T, Int>(symbol) for every spelling and type of a routine.
#define BLAS_TEST_SPELLING(symbol, T, Int, f) f<T, Int>(#symbol);
#define BLAS_TEST_fortran(r, T, f)                    \
  SPELL_fortran_int(BLAS_TEST_SPELLING, r, T, int, f) \
      SPELL_fortran_long(BLAS_TEST_SPELLING, r, T, std::int64_t, f)
#define BLAS_TEST_cblas(r, T, f)                    \
  SPELL_cblas_int(BLAS_TEST_SPELLING, r, T, int, f) \
      SPELL_cblas_long(BLAS_TEST_SPELLING, r, T, std::int64_t, f)
#define BLAS_TEST_lapacke(r, T, f)                    \
  SPELL_lapacke_int(BLAS_TEST_SPELLING, r, T, int, f) \
      SPELL_lapacke_long(BLAS_TEST_SPELLING, r, T, std::int64_t, f)
#define BLAS_TEST_mkl(r, T, f) \
  SPELL_mkl_int(BLAS_TEST_SPELLING, r, T, int, f) SPELL_mkl_long(BLAS_TEST_SPELLING, r, T, std::int64_t, f)
#define BLAS_TEST_bblas(r, T, f) SPELL_bblas_int(BLAS_TEST_SPELLING, r, T, int, f)
#define FOR_EACH_NAME(convention, letters, name, f) TYPES_##letters(BLAS_TEST_##convention, name, f)

using Random = std::mt19937;
inline int draw(Random& random, int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(random);
}

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
template <class T>
inline constexpr bool complex_type = !std::is_same_v<T, Real<T>>;

template <class T>
T draw_value(Random& random) {
  std::uniform_real_distribution<Real<T>> values(-1, 1);
  if constexpr (complex_type<T>)
    return {values(random), values(random)};
  else
    return values(random);
}
template <class T>
T conjugate(const T& x) {
  if constexpr (complex_type<T>)
    return std::conj(x);
  else
    return x;
}

template <class T>
struct Matrix {
  std::int64_t rows, cols, ld;
  bool by_rows;
  std::vector<T> data;

  T& at(std::int64_t i, std::int64_t j) { return data[std::size_t(by_rows ? i * ld + j : j * ld + i)]; }
  const T& at(std::int64_t i, std::int64_t j) const { return const_cast<Matrix*>(this)->at(i, j); }
};
template <class T>
Matrix<T> draw_matrix(Random& random, std::int64_t rows, std::int64_t cols, bool by_rows, int padding) {
  const std::int64_t ld = std::max<std::int64_t>(1, by_rows ? cols : rows) + padding;
  Matrix<T> x{rows, cols, ld, by_rows, {}};
  for (std::int64_t i = 0; i < ld * std::max<std::int64_t>(1, by_rows ? rows : cols); ++i)
    x.data.push_back(draw_value<T>(random));
  return x;
}

// True if all calls are served here: forwarded calls reach a library that may multiply by zero what must not
// be read; OpenBLAS 0.3.21 does so on some processors.
inline bool all_are_ours() {
  const char* mode = std::getenv("TILEWRIGHT_BLAS");
  return mode != nullptr && std::string(mode) == "all";
}

// Operations are letters here.
template <class T>
T element(char op, const Matrix<T>& x, std::int64_t i, std::int64_t j) {
  return op == 'N' ? x.at(i, j) : op == 'T' ? x.at(j, i) : conjugate(x.at(j, i));
}
inline int number_of(char op) { return op == 'N' ? 111 : op == 'T' ? 112 : 113; }

// Returns C with alpha op(A) op(B) + beta C in the elements that `wanted` selects.
template <class T, class Wanted>
Matrix<T> product(char op_a, char op_b, std::int64_t k, T alpha, const Matrix<T>& a, const Matrix<T>& b,
                  T beta, const Matrix<T>& c, Wanted&& wanted) {
  Matrix<T> result = c;
  for (std::int64_t j = 0; j < c.cols; ++j)
    for (std::int64_t i = 0; i < c.rows; ++i) {
      if (!wanted(i, j)) continue;
      T sum(0);
      for (std::int64_t l = 0; l < k; ++l) sum += element(op_a, a, i, l) * element(op_b, b, l, j);
      result.at(i, j) = alpha * sum + (beta == T(0) ? T(0) : beta * c.at(i, j));
    }
  return result;
}

// Compares all of the memory: elements that must not be written are unchanged, bit by bit.
template <class T>
void expect_near(const Matrix<T>& expected, const Matrix<T>& before, const Matrix<T>& got, std::int64_t k,
                 const std::string& what) {
  const auto bound = Real<T>(8 * (double(k) + 4)) * std::numeric_limits<Real<T>>::epsilon();
  int wrong = 0;
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const T &e = expected.data[i], &g = got.data[i];
    const bool untouched = e == before.data[i] || !(e == e);
    const bool right = untouched ? (g == e || (!(g == g) && !(e == e)) || std::abs(g - e) <= bound)
                                 : std::abs(g - e) <= bound * Real<T>(2);
    if (!right && ++wrong == 1) ADD_FAILURE() << what << ": element " << i << " is " << g << ", not " << e;
  }
  EXPECT_EQ(wrong, 0) << what;
}

template <class T>
void fill(Matrix<T>& x, T value) {
  for (T& element : x.data) element = value;
}

template <class T>
T draw_scalar(Random& random) {
  switch (draw(random, 0, 2)) {
    case 0:
      return T(0);
    case 1:
      return T(1);
    default:
      return draw_value<T>(random);
  }
}

// Converts scalars to CBLAS's arguments.
template <class T>
struct CblasScalar {
  using Type = T;
  static T pass(const T& x) { return x; }
};
template <class R>
struct CblasScalar<std::complex<R>> {
  using Type = const void*;
  static const void* pass(const std::complex<R>& x) { return &x; }
};
template <class T>
using CblasValue = typename CblasScalar<T>::Type;

}  // namespace tilewright::blas_tests
