// Compares products of small.hpp at every size from 1 to 33 and at some rectangles with the definition, bit
// for bit on whole numbers whose sums are exact. Each instruction set has a program of its own, since the
// header's code follows the flags of its translation unit; it is built without exceptions and with macros
// named min and max. Prints the errors; exit code 77 means that the processor lacks the instructions.
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) < (b) ? (b) : (a))
#include "tilewright/small.hpp"
#undef min
#undef max

namespace tilewright {
namespace {

int failures = 0;

template <class T>
T number(std::int64_t x, bool is_nan = false) {
  using R = typename small::Number<T>::Real;
  const R nan = std::numeric_limits<R>::quiet_NaN();
  if constexpr (small::Number<T>::parts == 2)
    return is_nan ? T(nan, nan) : T(R(x % 7 - 3), R(x % 5 - 2));
  else
    return is_nan ? nan : R(x % 7 - 3);
}

template <class T>
std::vector<T> numbers(std::int64_t count, std::int64_t factor, bool are_nan) {
  std::vector<T> v;
  for (std::int64_t i = 0; i < count; ++i) v.push_back(number<T>(factor * i + 1, are_nan));
  return v;
}

// 0, 1 or neither.
template <class T>
T scalar(int which) {
  if (which < 2) return T(typename small::Number<T>::Real(which));
  if constexpr (small::Number<T>::parts == 2)
    return T(2, -1);
  else
    return T(-2);
}

template <class T>
bool same(const T& x, const T& y) {
  return std::memcmp(&x, &y, sizeof(T)) == 0 || x == y || (x != x && y != y);
}

// The definition, with lengths of run time: it is compiled once for each type, as all is but the header's own
// code.
template <class T>
struct Operands {
  T alpha, beta;
  const T *a, *b;
  T* c;
  std::int64_t lda, ldb, ldc;
};

template <class T>
T element(Op op, const T* x, std::int64_t ld, std::int64_t i, std::int64_t j) {
  const T value = op == Op::none ? x[i + j * ld] : x[j + i * ld];
  if constexpr (small::Number<T>::parts == 2)
    return op == Op::conj_trans ? std::conj(value) : value;
  else
    return value;
}

struct Product {
  int m, n, k;
  Op op_a, op_b;
};

template <class T>
void define(const Product& p, const Operands<T>& o) {
  for (std::int64_t j = 0; j < p.n; ++j)
    for (std::int64_t i = 0; i < p.m; ++i) {
      T sum{};
      for (std::int64_t k = 0; k < p.k && o.alpha != T(0); ++k)
        sum += element(p.op_a, o.a, o.lda, i, k) * element(p.op_b, o.b, o.ldb, k, j);
      T& target = o.c[i + j * o.ldc];
      target = o.alpha * sum + (o.beta == T(0) ? T(0) : o.beta * target);
    }
}

// Operands that may not be read are NaN; so are the elements around C and between its columns.
template <class T>
void check(const Product& p, void (*multiply)(const Operands<T>&)) {
  constexpr std::int64_t guard = 64;
  const bool plain_a = p.op_a == Op::none, plain_b = p.op_b == Op::none;
  for (int which = 0; which < 18; ++which) {
    const T alpha = scalar<T>(which / 3 % 3), beta = scalar<T>(which % 3);
    const int extra = which < 9 ? 0 : 3;
    const std::int64_t lda = (plain_a ? p.m : p.k) + extra, ldb = (plain_b ? p.k : p.n) + extra,
                       ldc = p.m + extra;
    const auto a = numbers<T>(lda * (plain_a ? p.k : p.m), 3, alpha == T(0));
    const auto b = numbers<T>(ldb * (plain_b ? p.n : p.k), 11, alpha == T(0));
    std::vector<T> c(std::size_t(ldc * p.n + 2 * guard), number<T>(0, true));
    for (std::int64_t j = 0; j < p.n; ++j)
      for (std::int64_t i = 0; i < p.m; ++i)
        c[std::size_t(guard + i + j * ldc)] = number<T>(5 * i + 3 * j, beta == T(0));
    auto expected = c;
    define<T>(p, {alpha, beta, a.data(), b.data(), expected.data() + guard, lda, ldb, ldc});
    multiply({alpha, beta, a.data(), b.data(), c.data() + guard, lda, ldb, ldc});
    if (std::equal(c.begin(), c.end(), expected.begin(), same<T>)) continue;
    ++failures;
    std::printf("%d x %d x %d, %d bytes, operations %d and %d, alpha %d, beta %d, %d rows apart: wrong\n",
                p.m, p.n, p.k, int(sizeof(T)), int(p.op_a), int(p.op_b), which / 3 % 3, which % 3, extra);
  }
}

template <class T, int M, int N, int K, Op A = Op::none, Op B = Op::none>
void check() {
  check<T>({M, N, K, A, B}, [](const Operands<T>& o) {
    gemm<M, N, K, A, B>(o.alpha, o.a, o.lda, o.b, o.ldb, o.beta, o.c, o.ldc);
  });
}

template <class T, int... Before>
void check_squares(std::integer_sequence<int, Before...>) {
  (check<T, Before + 1, Before + 1, Before + 1>(), ...);
}

// The last vector of rows overlaps the block before it: it is alone in its block if the rows fill whole
// blocks of an instruction set and leave three (in 16, 32 or 64 bytes, f64 or f32, three or four vectors).
template <class T>
void check_rectangles() {
  check<T, 5, 13, 23>();
  check<T, 4, 4, 64>();
  check<T, 24, 8, 3>();
  check<T, 1, 7, 2>();
  check<T, 33, 2, 5>();
  check<T, 27, 5, 2>();
  check<T, 51, 3, 2>();
  check<T, 55, 3, 17>();
  check<T, 99, 3, 2>();
  check<T, 103, 2, 3>();
  check<T, 195, 2, 2>();
  check<T, 13, 14, 9, Op::trans, Op::none>();
  check<T, 14, 9, 13, Op::conj_trans, Op::trans>();
  check<T, 7, 17, 6, Op::none, Op::conj_trans>();
}

// Several tiny problems of a batch share a vector; the last ones are too few for one.
template <class T, int N>
void check_batch() {
  constexpr std::int64_t count = 11;
  const auto a = numbers<T>(count * N * N, 3, false), b = numbers<T>(count * N * N, 11, false);
  for (int which = 0; which < 6; ++which) {
    const T alpha = scalar<T>(1 + which / 3), beta = scalar<T>(which % 3);
    Batch<T, N, N> left(count), right(count), sum(count);
    std::copy(a.begin(), a.end(), left.data());
    std::copy(b.begin(), b.end(), right.data());
    auto expected = numbers<T>(count * N * N, 5, beta == T(0));
    std::copy(expected.begin(), expected.end(), sum.data());
    for (std::int64_t p = 0; p < count; ++p)
      small::multiply_plainly<N, N, N, Op::none, Op::none, T>(alpha, left[p].data(), N, right[p].data(), N,
                                                              beta, expected.data() + p * N * N, N);
    gemm(alpha, left, right, beta, sum);
    if (std::equal(expected.begin(), expected.end(), sum.data(), same<T>)) continue;
    ++failures;
    std::printf("batch of %d x %d, %d bytes, alpha %d, beta %d: wrong\n", N, N, int(sizeof(T)), 1 + which / 3,
                which % 3);
  }
}

template <class T>
void check_batches() {
  check_batch<T, 2>();
  check_batch<T, 3>();
  check_batch<T, 4>();
  check_batch<T, 8>();
}

bool runs_here() {
#if defined(__AVX512VL__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#elif defined(__AVX2__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

}  // namespace
}  // namespace tilewright

int main() {
  using namespace tilewright;
  if (!runs_here()) return 77;
  check_squares<double>(std::make_integer_sequence<int, 33>{});
  check_squares<float>(std::make_integer_sequence<int, 33>{});
  check_squares<std::complex<double>>(std::integer_sequence<int, 0, 1, 2, 3, 4, 6, 8, 12, 15>{});
  check_squares<std::complex<float>>(std::integer_sequence<int, 0, 1, 2, 3, 4, 6, 8, 12, 15>{});
  check_rectangles<double>();
  check_rectangles<float>();
  check_rectangles<std::complex<double>>();
  check_rectangles<std::complex<float>>();
  check_batches<double>();
  check_batches<float>();
  check_batches<std::complex<double>>();
  std::printf("%d failures\n", failures);
  return failures != 0;
}
