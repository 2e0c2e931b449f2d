// What the factors serve: systems, the inverse, refinement; and that bad arguments leave outputs alone.

#include "gemm/context_impl.hpp"
#include "lu/blas.hpp"
#include "lu/calls.hpp"
#include "lu/reference.hpp"
#include "lu_cases.hpp"

namespace tilewright::testing {
namespace {

template <class T>
struct Factored {
  Factored(Context& context, const LuMatrixOf<T>& a, const LuOptions& options = {})
      : lu(a), pivots(std::size_t(a.rows)) {
    info = lu_factor(context, a.rows, a.cols, lu.data.data(), lu.ld, pivots.data(), options).info;
  }
  LuMatrixOf<T> lu;
  std::vector<std::int64_t> pivots;
  std::int64_t info = 0;
};

// With the library found, and with none, so that every recursion is our own.
template <class T>
class LuSolve : public ::testing::Test {
 protected:
  LuSolve() { Access::impl(without).environment.cblas = "none"; }
  std::vector<Context*> contexts() { return {&with, &without}; }

  Context with{ContextOptions{.use_wisdom = false}}, without{ContextOptions{.use_wisdom = false}};
};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LuSolve, Types);

TYPED_TEST(LuSolve, FactorsWithoutALibrary) {
  using T = TypeParam;
  EXPECT_FALSE(Access::impl(this->without).cblas()->available());
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{100, 100}, {90, 30}, {30, 90}, {3, 60}}) {
    const auto a = make_matrix<T>(LuKind::random, m, n, 2);
    auto lu = a;
    std::vector<std::int64_t> pivots(std::size_t(std::min(m, n)));
    const auto report = lu_factor(this->without, m, n, lu.data.data(), lu.ld, pivots.data());
    EXPECT_EQ(report.candidate, "blocked");
    EXPECT_LT(factor_ratio(a, lu, pivots), 3) << m << " x " << n;
  }
}

TYPED_TEST(LuSolve, ResidualsAreLapacks) {
  using T = TypeParam;
  for (Context* context : this->contexts())
    for (const LuKind kind : {LuKind::random, LuKind::graded, LuKind::nearly_singular})
      for (const Op op : {Op::none, Op::trans, Op::conj_trans})
        for (const auto& [n, nrhs] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {75, 3}, {40, 1}}) {
          const auto a = make_matrix<T>(kind, n, n, 2);
          const auto b = make_matrix<T>(LuKind::random, n, nrhs, 1, 9);
          const Factored<T> f(*context, a);
          if (f.info > 0) continue;
          auto x = b;
          lu_solve(*context, op, n, nrhs, f.lu.data.data(), f.lu.ld, f.pivots.data(), x.data.data(), x.ld);
          EXPECT_TRUE(x.guards_stand());
          EXPECT_LT(solve_ratio(a, op, x, b), 30) << name_of(kind) << " op " << int(op) << " n " << n;
        }
}

TYPED_TEST(LuSolve, InverseTimesMatrixIsTheIdentity) {
  using T = TypeParam;
  for (Context* context : this->contexts())
    for (const std::int64_t n : {1, 5, 40, 150}) {
      const auto a = make_matrix<T>(LuKind::random, n, n, 2);
      Factored<T> f(*context, a);
      EXPECT_EQ(lu_inverse(*context, n, f.lu.data.data(), f.lu.ld, f.pivots.data()).info, 0);
      LuMatrixOf<T> identity(n, n);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) identity(i, j) = T(i == j ? 1 : 0);
      EXPECT_TRUE(f.lu.guards_stand());
      // xGET03 divides by n as well; the worst column by norms of its own is held to n times its bound.
      EXPECT_LT(solve_ratio(a, Op::none, f.lu, identity), 30.0 * double(n)) << n;
    }
}

TYPED_TEST(LuSolve, InverseOfASingularMatrixWritesNothing) {
  using T = TypeParam;
  Factored<T> f(this->with, make_matrix<T>(LuKind::singular, 9, 9));
  ASSERT_EQ(f.info, 5);
  const auto before = f.lu.data;
  EXPECT_EQ(lu_inverse(this->with, 9, f.lu.data.data(), f.lu.ld, f.pivots.data()).info, 5);
  EXPECT_EQ(f.lu.data, before);
}

TYPED_TEST(LuSolve, RefinementReachesTheMachinesError) {
  using T = TypeParam;
  const std::int64_t n = 60;
  const auto a = make_matrix<T>(LuKind::graded, n, n, 1);
  const auto b = make_matrix<T>(LuKind::random, n, 2, 3, 5);
  const Factored<T> f(this->with, a);
  for (const Op op : {Op::none, Op::trans, Op::conj_trans}) {
    auto x = b;
    lu_solve(this->with, op, n, 2, f.lu.data.data(), f.lu.ld, f.pivots.data(), x.data.data(), x.ld);
    for (std::int64_t i = 0; i < n; ++i) x(i, 0) *= T(RealOf<T>(1.001));
    const LuRefinement r = lu_refine(this->with, op, n, 2, a.data.data(), a.ld, f.lu.data.data(), f.lu.ld,
                                     f.pivots.data(), b.data.data(), b.ld, x.data.data(), x.ld);
    ASSERT_EQ(r.backward_errors.size(), 2u);
    EXPECT_EQ(r.backward_error, std::max(r.backward_errors[0], r.backward_errors[1]));
    EXPECT_LT(r.backward_error, 4 * epsilon_of<T>()) << int(op);
    EXPECT_GE(r.steps[0], 1);
    EXPECT_LE(r.steps[0], 5);
  }
}

TYPED_TEST(LuSolve, RecursionSolvesWhatLoopsDo) {
  using T = TypeParam;
  const HostBlas blas(this->without, 1);
  const auto a = make_matrix<T>(LuKind::equal_magnitudes, 71, 71);
  auto dominant = a;
  for (std::int64_t i = 0; i < 71; ++i) dominant(i, i) = T(200);
  for (const Side side : {Side::left, Side::right})
    for (const Uplo uplo : {Uplo::lower, Uplo::upper})
      for (const Op op : {Op::none, Op::trans, Op::conj_trans}) {
        const Triangle t{side, uplo, op, Diag::non_unit};
        const std::int64_t m = side == Side::left ? 71 : 5, n = side == Side::left ? 5 : 71;
        auto expected = make_matrix<T>(LuKind::random, m, n), x = expected;
        solve_small(t, m, n, dominant.data.data(), dominant.ld, expected.data.data(), expected.ld);
        blas.solve(t, m, n, dominant.data.data(), dominant.ld, x.data.data(), x.ld);
        for (std::size_t i = 0; i < x.data.size(); ++i)
          ASSERT_NEAR(double(std::abs(x.data[i] - expected.data[i])), 0, 20 * epsilon_of<T>());
      }
}

}  // namespace
}  // namespace tilewright::testing
