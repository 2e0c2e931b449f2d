// Compares products of compile-time size with the definition, bit for bit on data whose sums are exact: sizes
// around every vector width, operations, types, scalars, leading dimensions, and memory in and around C that
// must not be touched.
#include "tilewright/small.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tilewright/gemm.hpp"

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

// Infinities, NaN, zeros of both signs and numbers.
template <class T>
std::vector<T> special_numbers(std::size_t count) {
  using R = typename small::Number<T>::Real;
  constexpr R inf = std::numeric_limits<R>::infinity(), nan = std::numeric_limits<R>::quiet_NaN();
  const R values[] = {-R(0), inf, -inf, nan, R(0), R(-2.5), std::numeric_limits<R>::denorm_min()};
  std::vector<R> parts(count * small::Number<T>::parts);
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = values[i % std::size(values)];
  std::vector<T> all(count);
  std::memcpy(static_cast<void*>(all.data()), parts.data(), parts.size() * sizeof(R));
  return all;
}
template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

TYPED_TEST(Small, WithoutAProductBetaOneLeavesEveryBit) {
  using T = TypeParam;
  const auto before = special_numbers<T>(20);
  const std::vector<T> a(20, small_nan<T>()), b(20, small_nan<T>());
  auto c = before;
  gemm<4, 5, 3>(T(0), a.data(), 4, b.data(), 3, T(1), c.data(), 4);
  EXPECT_TRUE(same_bits(c, before));
  gemm<4, 5, 0>(T(2), a.data(), 4, b.data(), 1, T(1), c.data(), 4);
  EXPECT_TRUE(same_bits(c, before));
  small::multiply_plainly<4, 5, 3, Op::none, Op::none, T>(T(0), a.data(), 4, b.data(), 3, T(1), c.data(), 4);
  EXPECT_TRUE(same_bits(c, before));
  Batch<T, 4, 5> batch(1);
  std::copy(before.begin(), before.end(), batch.data());
  gemm(T(0), Batch<T, 4, 3>(1), Batch<T, 3, 5>(1), T(1), batch);
  EXPECT_TRUE(same_bits(std::vector<T>(batch.data(), batch.data() + 20), before));
}

// tilewright's implementations form complex products alike, so infinities follow the formula. A CBLAS may
// differ: OpenBLAS multiplies by alpha = 1 as well.
TYPED_TEST(Small, CandidatesAgreeAboutInfinities) {
  using T = TypeParam;
  if constexpr (small::Number<T>::parts == 2) {
    using R = typename T::value_type;
    constexpr R inf = std::numeric_limits<R>::infinity();
    const std::vector<T> x{T(inf, inf)}, y{T(1, 1)};
    const auto is_formula = [](T z) { return std::isnan(z.real()) && std::isinf(z.imag()); };
    Context context;
    for (const char* candidate : {"cpu_small", "reference", ""}) {
      GemmOptions options;
      options.candidate = candidate;
      std::vector<T> z(1);
      const MatrixView<const T> a{x.data(), 1, 1, 1}, b{y.data(), 1, 1, 1};
      gemm<T>(context, Op::none, Op::none, T(1), a, b, T(0), MatrixView<T>{z.data(), 1, 1, 1}, options);
      EXPECT_TRUE(is_formula(z[0])) << candidate << ' ' << z[0];
    }
    std::vector<T> z{T(inf, inf)};
    gemm<1, 1, 1>(T(1), x.data(), 1, y.data(), 1, T(0), z.data(), 1);
    EXPECT_TRUE(is_formula(z[0])) << z[0];
    z[0] = T(inf, inf);
    gemm<1, 1, 1>(T(0), x.data(), 1, y.data(), 1, T(1, 1), z.data(), 1);
    EXPECT_TRUE(is_formula(z[0])) << z[0];
    z[0] = T(inf, inf);
    const MatrixView<const T> none{nullptr, 1, 0, 1}, none_b{nullptr, 0, 1, 1};
    gemm<T>(context, Op::none, Op::none, T(1), none, none_b, T(1, 1), MatrixView<T>{z.data(), 1, 1, 1});
    EXPECT_TRUE(is_formula(z[0])) << z[0];
  }
}

}  // namespace
}  // namespace tilewright
