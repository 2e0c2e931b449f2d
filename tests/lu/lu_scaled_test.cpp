// Systems whose pivots are subnormal, huge or far apart: their reciprocals overflow or lose bits, the
// quotients do not. All values are sums of few powers of two, so that factors and solutions are exact.
#include "gemm/context_impl.hpp"
#include "lu/calls.hpp"
#include "lu/reference.hpp"
#include "lu_cases.hpp"

namespace tilewright::testing {
namespace {

enum class Scaling { subnormal, huge, falling_rows };
constexpr Scaling scalings[]{Scaling::subnormal, Scaling::huge, Scaling::falling_rows};
const char* name_of(Scaling scaling) {
  constexpr const char* names[]{"subnormal", "huge", "falling rows"};
  return names[int(scaling)];
}

// That of row i: rows fall, so that the diagonal stays the largest of its column.
template <class T>
int row_exponent(Scaling scaling, std::int64_t i, std::int64_t n) {
  using Limits = std::numeric_limits<RealOf<T>>;
  const int lowest = Limits::min_exponent - 10;
  if (scaling == Scaling::subnormal) return Limits::min_exponent - 3;
  if (scaling == Scaling::huge) return Limits::max_exponent - 3;
  return n == 1 ? lowest : int(lowest * i / (n - 1));
}

// A = D L U with D by row_exponent, of complex numbers times 1 + i; L and U have bands of 1/4 and 1/2.
template <class T>
struct Scaled {
  Scaled(Scaling scaling, std::int64_t n) : a(n, n, 2), lu(n, n) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const double u = j == i       ? 1
                         : j == i + 1 ? 0.5
                                      : 0,
                     u_above = i == 0       ? 0
                               : j == i - 1 ? 1
                               : j == i     ? 0.5
                                            : 0;
        const int e = row_exponent<T>(scaling, i, n);
        a(i, j) = scaled(u + 0.25 * u_above, e);
        lu(i, j) = j < i ? T(RealOf<T>(j == i - 1 ? std::ldexp(0.25, e - row_exponent<T>(scaling, j, n)) : 0))
                         : scaled(u, e);
      }
  }
  static T scaled(double value, int exponent) {
    const RealOf<T> x = std::ldexp(RealOf<T>(value), exponent);
    return is_complex(dtype_of<T>) ? entry<T>(x, x) : entry<T>(x, 0);
  }
  // op(A) X, exact in the wide type's range of exponents.
  LuMatrixOf<T> times(Op op, const LuMatrixOf<T>& x) const {
    LuMatrixOf<T> b(x.rows, x.cols, 1);
    for (std::int64_t i = 0; i < x.rows; ++i)
      for (std::int64_t c = 0; c < x.cols; ++c) {
        Wide<T> sum(0);
        for (std::int64_t k = 0; k < x.rows; ++k) sum += op_element(a, op, i, k) * Wide<T>(x(k, c));
        b(i, c) = T(sum);
      }
    return b;
  }
  LuMatrixOf<T> a, lu;
};

template <class T>
LuMatrixOf<T> whole_numbers(std::int64_t n, std::int64_t cols) {
  LuMatrixOf<T> x(n, cols);
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < n; ++i) x(i, j) = T(RealOf<T>((i + 2 * j) % 3));
  return x;
}

template <class T>
void expect_near(const LuMatrixOf<T>& found, const LuMatrixOf<T>& expected, const std::string& what) {
  for (std::int64_t j = 0; j < expected.cols; ++j)
    for (std::int64_t i = 0; i < expected.rows; ++i)
      ASSERT_LE(std::abs(Wide<T>(found(i, j)) - Wide<T>(expected(i, j))),
                8 * epsilon_of<T>() * std::abs(Wide<T>(expected(i, j))))
          << what << " at " << i << ", " << j << ": " << found(i, j) << " for " << expected(i, j);
}

// With the library found, and with none.
template <class T>
class LuScaled : public ::testing::Test {
 protected:
  LuScaled() { Access::impl(without).environment.cblas = "none"; }
  std::vector<Context*> contexts() { return {&with, &without}; }

  Context with{ContextOptions{.use_wisdom = false}}, without{ContextOptions{.use_wisdom = false}};
};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LuScaled, Types);

constexpr std::int64_t sizes[]{1, 2, 3, 70};

TYPED_TEST(LuScaled, FactorsAreExact) {
  using T = TypeParam;
  for (Context* context : this->contexts())
    for (const char* candidate : {"", "reference", "blocked", "lapack"})
      for (const Scaling scaling : scalings)
        for (const std::int64_t n : sizes) {
          if (context == &this->without && std::string(candidate) == "lapack") continue;
          const Scaled<T> s(scaling, n);
          auto lu = s.a;
          std::vector<std::int64_t> pivots(std::size_t(n), -1);
          EXPECT_EQ(
              lu_factor(*context, n, n, lu.data.data(), lu.ld, pivots.data(), lu_options(candidate)).info, 0);
          expect_near(lu, s.lu, std::string(candidate) + " " + name_of(scaling) + " n=" + std::to_string(n));
          EXPECT_TRUE(lu.guards_stand());
          for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(pivots[std::size_t(i)], i + 1);
        }
}

// The second pivot is -e^2, which is subnormal, where the smallest element is e / 2.
TYPED_TEST(LuScaled, APivotThatNoElementShows) {
  using T = TypeParam;
  using R = RealOf<T>;
  const R e = std::ldexp(R(1), std::numeric_limits<R>::min_exponent / 2 - 2), half = R(0.5);
  for (Context* context : this->contexts()) {
    LuMatrixOf<T> lu(3, 3), expected(3, 3);
    const R before[3][3] = {{1, e, 0}, {e, 0, 1}, {e / 2, 0, 0}};
    const R after[3][3] = {{1, e, 0}, {e, -e * e, 1}, {e / 2, half, -half}};
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 3; ++j) lu(i, j) = T(before[i][j]), expected(i, j) = T(after[i][j]);
    std::vector<std::int64_t> pivots(3);
    EXPECT_EQ(lu_factor(*context, 3, 3, lu.data.data(), lu.ld, pivots.data()).info, 0);
    expect_near(lu, expected, "3 x 3");
  }
}

TYPED_TEST(LuScaled, SolutionsAreExact) {
  using T = TypeParam;
  for (Context* context : this->contexts())
    for (const Scaling scaling : scalings)
      for (const std::int64_t n : sizes)
        for (const std::int64_t nrhs : {1, 7})
          for (const Op op : {Op::none, Op::trans, Op::conj_trans}) {
            const Scaled<T> s(scaling, n);
            std::vector<std::int64_t> pivots(std::size_t(n), 0);
            for (std::int64_t i = 0; i < n; ++i) pivots[std::size_t(i)] = i + 1;
            const auto expected = whole_numbers<T>(n, nrhs);
            auto x = s.times(op, expected);
            lu_solve(*context, op, n, nrhs, s.lu.data.data(), s.lu.ld, pivots.data(), x.data.data(), x.ld);
            EXPECT_TRUE(x.guards_stand());
            // Of falling rows the transposed system is ill-conditioned, and the last bits of B are not there.
            if (op != Op::none && scaling == Scaling::falling_rows && n > 1) continue;
            expect_near(
                x, expected,
                std::string(name_of(scaling)) + " n=" + std::to_string(n) + " op " + std::to_string(int(op)));
          }
}

TYPED_TEST(LuScaled, RefinementKeepsWhatIsExactAndMendsWhatIsNot) {
  using T = TypeParam;
  for (const Scaling scaling : {Scaling::subnormal, Scaling::huge}) {
    const std::int64_t n = 30;
    const Scaled<T> s(scaling, n);
    std::vector<std::int64_t> pivots(std::size_t(n), 0);
    for (std::int64_t i = 0; i < n; ++i) pivots[std::size_t(i)] = i + 1;
    const auto expected = whole_numbers<T>(n, 2);
    const auto b = s.times(Op::none, expected);
    auto x = expected;
    for (std::int64_t i = 0; i < n; ++i) x(i, 1) += T(1);
    lu_refine(this->with, Op::none, n, 2, s.a.data.data(), s.a.ld, s.lu.data.data(), s.lu.ld, pivots.data(),
              b.data.data(), b.ld, x.data.data(), x.ld);
    expect_near(x, expected, name_of(scaling));
  }
}

// [u v; 0 w] with the identity between its rows, whose inverse is [1/u -v/(uw); 0 1/w].
TYPED_TEST(LuScaled, InversesOfGradedTriangles) {
  using T = TypeParam;
  using Limits = std::numeric_limits<RealOf<T>>;
  const int e = Limits::max_exponent * 3 / 5, most = Limits::max_exponent - 2;
  struct Case {
    int u, v, w;
  };
  for (Context* context : this->contexts())
    for (const Case& c : {Case{e, -e, -e}, {-e, e, e}, {most, 0, 0}, {0, 0, most}})
      for (const std::int64_t n : {2, 17, 150}) {
        LuMatrixOf<T> a(n, n, 1), expected(n, n);
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < n; ++i) a(i, j) = expected(i, j) = T(RealOf<T>(i == j));
        const auto power = [](int exponent) { return T(std::ldexp(RealOf<T>(1), exponent)); };
        a(0, 0) = power(c.u), a(0, n - 1) = power(c.v), a(n - 1, n - 1) = power(c.w);
        expected(0, 0) = power(-c.u), expected(0, n - 1) = -power(c.v - c.u - c.w),
                    expected(n - 1, n - 1) = power(-c.w);
        std::vector<std::int64_t> pivots(std::size_t(n), 0);
        for (std::int64_t i = 0; i < n; ++i) pivots[std::size_t(i)] = i + 1;
        EXPECT_EQ(lu_inverse(*context, n, a.data.data(), a.ld, pivots.data()).info, 0);
        expect_near(a, expected, "u=2^" + std::to_string(c.u) + " n=" + std::to_string(n));
        EXPECT_TRUE(a.guards_stand());
      }
}

// A division that squares neither number nor loses the smaller part.
TEST(LuScaled, ComplexNumbersAtTheEndsAreDivided) {
  Context context{ContextOptions{.use_wisdom = false}};
  using C = std::complex<double>;
  const std::int64_t pivot = 1;
  const double least = std::numeric_limits<double>::denorm_min(), most = std::numeric_limits<double>::max();
  for (const C u :
       {C(least, 0), C(0, least), C(most, most), C(-most, most), C(most, least), C(3 * least, 5 * least)}) {
    C x = u;
    lu_solve(context, Op::none, 1, 1, &u, 1, &pivot, &x, 1);
    EXPECT_NEAR(std::abs(x - C(1)), 0, 1e-15) << u;
  }
}

}  // namespace
}  // namespace tilewright::testing
