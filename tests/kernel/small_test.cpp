// Products of compile-time size against the definition, bit for bit on data whose sums are exact: sizes
// around every vector width, operations, types, scalars, leading dimensions, and what may not be touched
// around and inside C.
#include "tilewright/small.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tilewright {
namespace {

template <class T>
T whole_number(std::int64_t x) {
  if constexpr (small::Number<T>::parts == 2)
    return T(static_cast<typename T::value_type>(x % 7 - 3), static_cast<typename T::value_type>(x % 5 - 2));
  else
    return static_cast<T>(x % 7 - 3);
}

template <class T>
T small_nan() {
  return T(std::numeric_limits<typename small::Number<T>::Real>::quiet_NaN());
}

template <class T>
std::vector<T> numbers(std::int64_t count, std::int64_t factor) {
  std::vector<T> v(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) v[static_cast<std::size_t>(i)] = whole_number<T>(factor * i + 1);
  return v;
}

template <class T>
T scalar(int which) {  // 0, 1 or neither
  if (which < 2) return T(static_cast<typename small::Number<T>::Real>(which));
  if constexpr (small::Number<T>::parts == 2)
    return T(2, -1);
  else
    return T(-2);
}

template <class T, int M, int N, int K, Op A = Op::none, Op B = Op::none>
void check(std::int64_t extra) {
  const std::int64_t lda = (A == Op::none ? M : K) + extra, ldb = (B == Op::none ? K : N) + extra,
                     ldc = M + extra;
  const auto a = numbers<T>(lda * (A == Op::none ? K : M), 3);
  const auto b = numbers<T>(ldb * (B == Op::none ? N : K), 11);
  constexpr std::int64_t guard = 16;
  for (int which = 0; which < 9; ++which) {
    const T alpha = scalar<T>(which / 3), beta = scalar<T>(which % 3);
    auto c = numbers<T>(ldc * N + 2 * guard, 5);
    if (beta == T(0))
      for (std::int64_t j = 0; j < N; ++j)
        for (std::int64_t i = 0; i < M; ++i)
          c[static_cast<std::size_t>(guard + i + j * ldc)] = small_nan<T>();
    auto expected = c;
    small::multiply_plainly<M, N, K, A, B, T>(alpha, a.data(), lda, b.data(), ldb, beta,
                                              expected.data() + guard, ldc);
    gemm<M, N, K, A, B>(alpha, a.data(), lda, b.data(), ldb, beta, c.data() + guard, ldc);
    ASSERT_EQ(c, expected) << M << 'x' << N << 'x' << K << " alpha " << alpha << " beta " << beta << " extra "
                           << extra;
  }
}

template <class T>
class Small : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Small, Types);

TYPED_TEST(Small, Rectangles) {
  for (std::int64_t extra : {0, 3}) {
    check<TypeParam, 5, 13, 23>(extra);
    check<TypeParam, 4, 4, 64>(extra);
    check<TypeParam, 24, 8, 3>(extra);
    check<TypeParam, 1, 7, 2>(extra);
    check<TypeParam, 33, 2, 5>(extra);
  }
}

}  // namespace
}  // namespace tilewright
