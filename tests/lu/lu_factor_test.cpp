// Factorizations of every candidate and type: LAPACK's residual, pivots, zero pivots, Inf and NaN, shapes.
#include "far_columns.hpp"
#include "gemm/context_impl.hpp"
#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "lu/reference.hpp"

namespace tilewright::testing {
namespace {

template <class T>
class LuFactor : public ::testing::Test {
 protected:
  // Those that serve this machine.
  std::vector<LuOptions> ways() {
    std::vector<LuOptions> all{lu_options("reference"), lu_options("blocked")};
    for (const std::int64_t nb : {1, 7, 32, 100000}) all.push_back(lu_options("blocked", Target::cpu, nb));
    const auto cblas = Access::impl(context).cblas();
    if (cblas->available() && cblas->has_getrf()) all.push_back(lu_options("lapack"));
    return all;
  }
  static std::string text(const LuOptions& o) { return o.candidate + " nb=" + std::to_string(o.nb); }

  Context context{ContextOptions{.use_wisdom = false}};
};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LuFactor, Types);

TYPED_TEST(LuFactor, ResidualsAreLapacks) {
  using T = TypeParam;
  const std::pair<std::int64_t, std::int64_t> shapes[]{{1, 1},   {2, 2},   {33, 33}, {70, 70},
                                                       {90, 20}, {20, 90}, {1, 9},   {9, 1}};
  for (const LuOptions& o : this->ways())
    for (const LuKind kind : lu_kinds)
      for (const auto& [m, n] : shapes) {
        const auto a = make_matrix<T>(kind, m, n, 3);
        auto lu = a;
        std::vector<std::int64_t> pivots(std::size_t(std::min(m, n)), -1);
        const LuReport report = lu_factor(this->context, m, n, lu.data.data(), lu.ld, pivots.data(), o);
        const std::string what =
            this->text(o) + " " + name_of(kind) + " " + std::to_string(m) + " x " + std::to_string(n);
        EXPECT_EQ(report.candidate, o.candidate);
        EXPECT_TRUE(lu.guards_stand()) << what;
        ASSERT_TRUE(std::ranges::all_of(pivots, [&](auto p) { return p >= 1 && p <= m; })) << what;
        // Wilkinson's matrix grows by 2^(n - 1), which no bound of partial pivoting excludes.
        const double growth = kind == LuKind::wilkinson ? std::pow(2.0, double(std::min(m, n))) : 1;
        EXPECT_LT(factor_ratio(a, lu, pivots), (kind == LuKind::random ? 3 : 30) * growth) << what;
      }
}

TYPED_TEST(LuFactor, PivotsAreTheReferences) {
  using T = TypeParam;
  for (const LuOptions& o : this->ways())
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{150, 150}, {200, 40}, {40, 200}}) {
      auto lu = make_matrix<T>(LuKind::random, m, n, 1), expected = lu;
      std::vector<std::int64_t> pivots(std::size_t(std::min(m, n))), right = pivots;
      factor_reference(m, n, expected.data.data(), expected.ld, right.data());
      lu_factor(this->context, m, n, lu.data.data(), lu.ld, pivots.data(), o);
      EXPECT_EQ(pivots, right) << this->text(o) << " " << m << " x " << n;
    }
}

TYPED_TEST(LuFactor, FirstZeroPivotIsToldAndTheRestDone) {
  using T = TypeParam;
  const std::int64_t n = 40;
  for (const LuOptions& o : this->ways()) {
    // Columns 12 and 30 are zero, so that pivots 13 and 31 are.
    auto a = make_matrix<T>(LuKind::random, n, n);
    for (std::int64_t i = 0; i < n; ++i) a(i, 12) = a(i, 30) = T(0);
    auto lu = a;
    std::vector<std::int64_t> pivots(n);
    EXPECT_EQ(lu_factor(this->context, n, n, lu.data.data(), lu.ld, pivots.data(), o).info, 13)
        << this->text(o);
    EXPECT_LT(factor_ratio(a, lu, pivots), 3) << this->text(o);
  }
}

TYPED_TEST(LuFactor, InfAndNanReachTheFactors) {
  using T = TypeParam;
  const auto not_finite = [](const T& x) { return !std::isfinite(double(std::abs(x))); };
  using Limits = std::numeric_limits<RealOf<T>>;
  for (const LuOptions& o : this->ways())
    for (const RealOf<T> bad : {Limits::infinity(), Limits::quiet_NaN()}) {
      auto lu = make_matrix<T>(LuKind::random, 30, 30);
      lu(11, 5) = T(bad);
      std::vector<std::int64_t> pivots(30);
      lu_factor(this->context, 30, 30, lu.data.data(), lu.ld, pivots.data(), o);
      // As a pivot, an infinity makes zeros of the column below it; a NaN spreads.
      EXPECT_TRUE(std::ranges::any_of(lu.data, not_finite)) << this->text(o) << " " << bad;
      if (std::isnan(bad)) EXPECT_TRUE(not_finite(lu(29, 29))) << this->text(o);
      EXPECT_TRUE(std::ranges::all_of(pivots, [](auto p) { return p >= 1 && p <= 30; }));
    }
}

TYPED_TEST(LuFactor, NanIsAPivotOnlyWhereItComesFirst) {
  using T = TypeParam;
  const T nan(std::numeric_limits<RealOf<T>>::quiet_NaN());
  std::vector<std::int64_t> pivots(1);
  std::vector<T> first{nan, T(2), T(3)}, later{T(1), nan, T(3)};
  factor_reference<T>(3, 1, first.data(), 3, pivots.data());
  EXPECT_EQ(pivots[0], 1);
  factor_reference<T>(3, 1, later.data(), 3, pivots.data());
  EXPECT_EQ(pivots[0], 3);
}

TYPED_TEST(LuFactor, TinyPivotsDivideWithoutOverflow) {
  using T = TypeParam;
  const T tiny(std::numeric_limits<RealOf<T>>::denorm_min());
  std::vector<T> a{tiny, tiny};
  std::vector<std::int64_t> pivots(1);
  EXPECT_EQ(factor_reference<T>(2, 1, a.data(), 2, pivots.data()), 0);
  EXPECT_EQ(a[1], T(1));
}

TYPED_TEST(LuFactor, EmptyMatrices) {
  using T = TypeParam;
  for (const LuOptions& o : this->ways()) {
    EXPECT_EQ(lu_factor<T>(this->context, 0, 0, nullptr, 1, nullptr, o).info, 0);
    EXPECT_EQ(lu_factor<T>(this->context, 5, 0, nullptr, 5, nullptr, o).info, 0);
    EXPECT_EQ(lu_factor<T>(this->context, 0, 5, nullptr, 1, nullptr, o).info, 0);
  }
}

// Columns 2^26 elements apart, and so far apart that no 32-bit BLAS can be told.
TYPED_TEST(LuFactor, OffsetsPassThirtyTwoBits) {
  using T = TypeParam;
  const std::int64_t n = 50;
  const auto a = make_matrix<T>(LuKind::random, n, n), b = make_matrix<T>(LuKind::random, n, 3, 0, 9);
  for (const std::int64_t ld : {(std::int64_t(1) << 26) + 3, (std::int64_t(1) << 31) + 5})
    for (LuOptions o : this->ways()) {
      const FarColumns<T> lu(a, ld), x(b, ld);
      if (!lu || !x) GTEST_SKIP() << "no address space";
      if (ld > std::numeric_limits<int>::max() && o.candidate == "lapack") o = {};
      const std::string what = this->text(o) + " lda " + std::to_string(ld);
      std::vector<std::int64_t> pivots(n);
      lu_factor(this->context, n, n, lu.data(), ld, pivots.data(), o);
      EXPECT_LT(factor_ratio(a, lu.near(a), pivots), 3) << what;
      lu_solve(this->context, Op::none, n, b.cols, lu.data(), ld, pivots.data(), x.data(), ld);
      EXPECT_LT(solve_ratio(a, Op::none, x.near(b), b), 30) << what;
      lu_inverse(this->context, n, lu.data(), ld, pivots.data());
      auto identity = a;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) identity(i, j) = T(i == j ? 1 : 0);
      EXPECT_LT(solve_ratio(a, Op::none, lu.near(a), identity), 30) << what;
    }
}

}  // namespace
}  // namespace tilewright::testing
