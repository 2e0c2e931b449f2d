// Eigenvalues and singular values of batches, by LAPACK's residual ratios.
#include <cmath>
#include <string>
#include <tuple>

#include "factor_cases.hpp"
#include "gemm/context_impl.hpp"

namespace tilewright::testing {
namespace {

template <class T>
class FactorJacobi : public ::testing::Test {
 protected:
  Context context{ContextOptions{.use_wisdom = false}};
};
using JacobiTypes = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(FactorJacobi, JacobiTypes);

// Hermitian matrices of a kind: only one triangle is set, the other holds what nothing may read.
template <class T>
struct HermitianCases {
  HermitianCases(FactorKind kind, std::int64_t n, std::int64_t count, bool by_rows, Uplo uplo)
      : full(make_problems<T>(kind, n, n, count, by_rows)), stored(full) {
    for (std::int64_t p = 0; p < count; ++p)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) {
          if (i < j) full(p, i, j) = conj_value(full(p, j, i));
          if (i == j) full(p, i, i) = T(std::real(full(p, i, i)));
          const bool is_read = uplo == Uplo::lower ? i >= j : i <= j;
          stored(p, i, j) = is_read ? full(p, i, j) : T(std::numeric_limits<RealOf<T>>::quiet_NaN());
        }
  }
  Problems<T> full, stored;
};

// ||A V - V D|| / (||A|| n eps) of the worst problem, xSTT21.
template <class T>
long double eigen_residual(const Problems<T>& a, const std::vector<RealOf<T>>& values, const Problems<T>& v) {
  const std::int64_t n = a.rows;
  long double worst = 0;
  for (std::int64_t p = 0; p < a.count; ++p) {
    const long double norm = column_sum(n, n, [&](std::int64_t i, std::int64_t j) {
      Wide<T> sum = -Wide<T>(v(p, i, j)) * Wide<T>(values[std::size_t(p * n + j)]);
      for (std::int64_t k = 0; k < n; ++k) sum += Wide<T>(a(p, i, k)) * Wide<T>(v(p, k, j));
      return sum;
    });
    const long double ratio = norm == 0 ? 0 : norm / norm_of(a, p);
    worst = std::isnan(ratio) ? ratio : std::max(worst, ratio);
  }
  return worst / (static_cast<long double>(n) * epsilon_of<T>());
}

// The largest difference of two problems' values over the largest value and n eps.
template <class R>
long double value_difference(const std::vector<R>& x, const std::vector<R>& y, std::int64_t n) {
  long double largest = 0, difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<long double>(y[i])));
    difference =
        std::max(difference, std::abs(static_cast<long double>(x[i]) - static_cast<long double>(y[i])));
  }
  return difference == 0 ? 0 : difference / (largest * static_cast<long double>(n) * epsilon_of<R>());
}

template <class T>
void expect_eigenvectors(Context& context, FactorKind kind, std::int64_t n, std::int64_t count, bool by_rows,
                         Uplo uplo, const std::string& candidate) {
  HermitianCases<T> a(kind, n, count, by_rows, uplo);
  std::vector<RealOf<T>> values(std::size_t(n * count), RealOf<T>(-7)), alone = values;
  std::vector<int> info(std::size_t(count), -1);
  Problems<T> v(n, n, count, !by_rows);
  const FactorOptions options{.candidate = candidate};
  syev_batched(context, uplo, a.stored.batch(), values, v.batch(), {InfoMode::all, info.data()}, options);
  syev_batched(context, uplo, a.stored.batch(), alone, {}, options);
  EXPECT_EQ(info, std::vector<int>(std::size_t(count), 0));
  EXPECT_LT(orthogonality(v), 10);
  EXPECT_LT(eigen_residual(a.full, values, v), 10);
  EXPECT_LT(value_difference(alone, values, n), 1);
  for (std::int64_t p = 0; p < count; ++p)
    EXPECT_TRUE(std::is_sorted(&values[std::size_t(p * n)], &values[std::size_t(p * n)] + n));
}

TYPED_TEST(FactorJacobi, EigenvectorsHaveLapacksResiduals) {
  using T = TypeParam;
  for (const char* candidate : {"lanes", "blocked"})
    for (const FactorKind kind : factor_kinds)
      for (const auto& [n, count, by_rows, uplo] : {std::tuple{1, 5, false, Uplo::lower},
                                                    {2, 37, true, Uplo::upper},
                                                    {5, 37, false, Uplo::upper},
                                                    {12, 5, true, Uplo::lower},
                                                    {21, 1, false, Uplo::lower},
                                                    {32, 5, false, Uplo::upper}}) {
        SCOPED_TRACE(std::string(candidate) + " " + name_of(kind) + " " + std::to_string(n));
        expect_eigenvectors<T>(this->context, kind, n, count, by_rows, uplo, candidate);
      }
  expect_eigenvectors<T>(this->context, FactorKind::random, 50, 3, true, Uplo::upper, "lanes");
  expect_eigenvectors<T>(this->context, FactorKind::graded, 70, 1, false, Uplo::lower, "");
}

TYPED_TEST(FactorJacobi, VectorsMayOverwriteTheMatrix) {
  using T = TypeParam;
  for (const char* candidate : {"lanes", "blocked"}) {
    HermitianCases<T> a(FactorKind::random, 9, 5, false, Uplo::lower);
    std::vector<RealOf<T>> values(45);
    syev_batched(this->context, Uplo::lower, a.stored.batch(), values, a.stored.batch(), {},
                 {.candidate = candidate});
    EXPECT_LT(eigen_residual(a.full, values, a.stored), 10) << candidate;
  }
}

TYPED_TEST(FactorJacobi, EqualEigenvaluesAndDiagonalMatrices) {
  using T = TypeParam;
  for (const char* candidate : {"lanes", "blocked"}) {
    Problems<T> a(4, 4, 3);
    for (std::int64_t i = 0; i < 4; ++i) {
      a(0, i, i) = T(RealOf<T>(4 - i));                                         // 4 3 2 1
      for (std::int64_t j = 0; j < 4; ++j) a(1, i, j) = T(1);                   // 0 0 0 4
      for (std::int64_t j = 0; j < 4; ++j) a(2, i, j) = T(i == 3 - j ? 1 : 0);  // -1 -1 1 1
    }
    std::vector<RealOf<T>> values(12);
    Problems<T> v(4, 4, 3);
    syev_batched(this->context, Uplo::lower, a.batch(), values, v.batch(), {}, {.candidate = candidate});
    const std::vector<RealOf<T>> expected{1, 2, 3, 4, 0, 0, 0, 4, -1, -1, 1, 1};
    EXPECT_LT(value_difference(values, expected, 4), 1) << candidate;
    EXPECT_LT(orthogonality(v), 10) << candidate;
    EXPECT_EQ(std::abs(v(0, 3, 0)), 1);
  }
}

template <class T>
struct Svd {
  Svd(Context& context, Problems<T>& a, const std::string& candidate)
      : k(std::min(a.rows, a.cols)),
        values(std::size_t(k * a.count), RealOf<T>(-7)),
        alone(values),
        info(std::size_t(a.count), -1),
        u(a.rows, k, a.count, !a.by_rows),
        vh(k, a.cols, a.count, a.by_rows) {
    const FactorOptions options{.candidate = candidate};
    gesvd_batched(context, a.batch(), values, u.batch(), vh.batch(), {InfoMode::all, info.data()}, options);
    gesvd_batched(context, a.batch(), alone, {}, options);
  }

  // ||A - U S V^H|| / (||A|| max(m, n) eps) of the worst problem, xBDT01.
  long double residual(const Problems<T>& a) const {
    long double worst = 0;
    for (std::int64_t p = 0; p < a.count; ++p) {
      const long double norm = column_sum(a.rows, a.cols, [&](std::int64_t i, std::int64_t j) {
        Wide<T> sum = -Wide<T>(a(p, i, j));
        for (std::int64_t l = 0; l < k; ++l)
          sum += Wide<T>(u(p, i, l)) * Wide<T>(vh(p, l, j)) * Wide<T>(values[std::size_t(p * k + l)]);
        return sum;
      });
      const long double ratio = norm == 0 ? 0 : norm / norm_of(a, p);
      worst = std::isnan(ratio) ? ratio : std::max(worst, ratio);
    }
    return worst / (static_cast<long double>(std::max(a.rows, a.cols)) * epsilon_of<T>());
  }
  Problems<T> right_vectors() const {
    Problems<T> v(vh.cols, k, vh.count);
    for (std::int64_t p = 0; p < vh.count; ++p)
      for (std::int64_t j = 0; j < k; ++j)
        for (std::int64_t i = 0; i < vh.cols; ++i) v(p, i, j) = conj_value(vh(p, j, i));
    return v;
  }

  std::int64_t k;
  std::vector<RealOf<T>> values, alone;
  std::vector<int> info;
  Problems<T> u, vh;
};

template <class T>
void expect_singular_vectors(Context& context, Problems<T> a, const std::string& candidate) {
  const Problems<T> before = a;
  const Svd<T> svd(context, a, candidate);
  EXPECT_EQ(a.data, before.data);
  EXPECT_EQ(svd.info, std::vector<int>(std::size_t(a.count), 0));
  EXPECT_LT(orthogonality(svd.u), 10);
  EXPECT_LT(orthogonality(svd.right_vectors()), 10);
  EXPECT_LT(svd.residual(a), 10);
  EXPECT_LT(value_difference(svd.alone, svd.values, svd.k), 1);
  for (std::int64_t p = 0; p < a.count; ++p) {
    const RealOf<T>* const values = &svd.values[std::size_t(p * svd.k)];
    EXPECT_TRUE(std::is_sorted(values, values + svd.k, std::greater<>()));
    EXPECT_GE(values[svd.k - 1], 0);
  }
}

TYPED_TEST(FactorJacobi, SingularVectorsHaveLapacksResiduals) {
  using T = TypeParam;
  for (const char* candidate : {"lanes", "blocked"})
    for (const FactorKind kind : factor_kinds)
      for (const auto& [m, n, count, by_rows] : {std::tuple{1, 1, 5, false},
                                                 {5, 5, 37, true},
                                                 {9, 4, 5, false},
                                                 {4, 9, 37, true},
                                                 {3, 1, 5, true},
                                                 {1, 3, 5, false},
                                                 {17, 17, 1, false},
                                                 {32, 20, 5, true}}) {
        SCOPED_TRACE(std::string(candidate) + " " + name_of(kind) + " " + std::to_string(m) + " x " +
                     std::to_string(n));
        expect_singular_vectors<T>(this->context, make_problems<T>(kind, m, n, count, by_rows), candidate);
      }
  expect_singular_vectors<T>(this->context, make_problems<T>(FactorKind::random, 32, 32, 3), "lanes");
  expect_singular_vectors<T>(this->context, make_problems<T>(FactorKind::graded, 64, 40, 2), "lanes");
  expect_singular_vectors<T>(this->context, make_problems<T>(FactorKind::deficient, 70, 34, 2), "");
}

// Above the sizes of lanes, LAPACK's routines compute if the library has them; the fake one has not.
template <class F>
void with_each_library(F&& f) {
  for (const char* cblas : {"", "none", TILEWRIGHT_TEST_CBLAS "/libfake_cblas_plain.so"}) {
    Context context(ContextOptions{.use_wisdom = false});
    if (*cblas != 0) Access::impl(context).environment.cblas = cblas;
    const std::shared_ptr<const CblasLibrary> library = Access::impl(context).cblas();
    EXPECT_FALSE(*cblas != 0 && (library->has_syevd() || library->has_gesdd())) << cblas;
    SCOPED_TRACE("library " + library->name());
    f(context);
  }
}

TYPED_TEST(FactorJacobi, LargeMatricesOfEveryLibrary) {
  using T = TypeParam;
  with_each_library([](Context& own) {
    for (const FactorKind kind : factor_kinds) {
      SCOPED_TRACE(name_of(kind));
      const bool by_lapack = Access::impl(own).cblas()->has_gesdd();
      if (!by_lapack && kind != FactorKind::random && kind != FactorKind::graded) continue;
      expect_eigenvectors<T>(own, kind, 65, 2, true, Uplo::upper, "");
      expect_singular_vectors<T>(own, make_problems<T>(kind, 80, 65, 1, true), "");
      expect_singular_vectors<T>(own, make_problems<T>(kind, 20, 70, 1), "");
    }
    expect_eigenvectors<T>(own, FactorKind::random, 80, 1, false, Uplo::upper, "");
    expect_eigenvectors<T>(own, FactorKind::random, 130, 1, false, Uplo::lower, "");
    expect_singular_vectors<T>(own, make_problems<T>(FactorKind::random, 130, 130, 1), "");
    HermitianCases<T> a(FactorKind::random, 66, 2, true, Uplo::lower);
    std::vector<RealOf<T>> values(132);
    syev_batched(own, Uplo::lower, a.stored.batch(), values, a.stored.batch());
    EXPECT_LT(eigen_residual(a.full, values, a.stored), 10) << "vectors overwrite the matrix";
  });
}

TYPED_TEST(FactorJacobi, LargeProblemsThatAreNotFiniteHaveAnInfo) {
  using T = TypeParam;
  using Limits = std::numeric_limits<RealOf<T>>;
  with_each_library([](Context& own) {
    for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
      HermitianCases<T> a(FactorKind::random, 65, 3, false, uplo);
      const bool lower = uplo == Uplo::lower;
      a.stored(1, lower ? 64 : 3, lower ? 3 : 64) = T(Limits::infinity());
      Problems<T> v(65, 65, 3);
      std::vector<RealOf<T>> values(3 * 65);
      std::vector<int> info(3, -1);
      syev_batched(own, uplo, a.stored.batch(), values, v.batch(), {InfoMode::all, info.data()});
      EXPECT_EQ(info, (std::vector<int>{0, 65 * 64 / 2, 0}));
      EXPECT_EQ(v(1, 4, 4), T(0));
      EXPECT_TRUE(std::isnan(values[65]) && std::isfinite(values[130]));
    }
    Problems<T> b = make_problems<T>(FactorKind::random, 70, 66, 2);
    b(1, 69, 65) = T(Limits::quiet_NaN());
    const Svd<T> svd(own, b, "");
    EXPECT_EQ(svd.info, (std::vector<int>{0, 66 * 65 / 2}));
    EXPECT_EQ(svd.u(1, 0, 0), T(0));
  });
}

// Values far below the largest are right to their own digits, which is what one-sided rotations are for.
TYPED_TEST(FactorJacobi, SmallSingularValuesOfGradedColumns) {
  using T = TypeParam;
  using R = RealOf<T>;
  for (const char* candidate : {"lanes", "blocked"}) {
    Problems<T> a(6, 3, 1);
    const R small = std::ldexp(R(1), -40);
    for (std::int64_t i = 0; i < 6; ++i) {  // orthogonal columns of norms 2 small^0, 2 small^1, small^2
      a(0, i, 0) = T(i < 4 ? 1 : 0), a(0, i, 1) = T(i < 4 ? (i % 2 == 0 ? small : -small) : 0);
      a(0, i, 2) = T(i == 5 ? small * small : 0);
    }
    const Svd<T> svd(this->context, a, candidate);
    EXPECT_NEAR(double(svd.values[0]) / 2, 1, 10 * epsilon_of<T>()) << candidate;
    EXPECT_NEAR(double(svd.values[1]) / (2 * double(small)), 1, 10 * epsilon_of<T>()) << candidate;
    EXPECT_NEAR(double(svd.values[2]) / (double(small) * double(small)), 1, 10 * epsilon_of<T>())
        << candidate;
  }
}

TYPED_TEST(FactorJacobi, ProblemsThatAreNotFiniteHaveAnInfo) {
  using T = TypeParam;
  using Limits = std::numeric_limits<RealOf<T>>;
  for (const char* candidate : {"lanes", "blocked"}) {
    HermitianCases<T> a(FactorKind::random, 5, 9, false, Uplo::lower);
    a.stored(3, 4, 1) = T(Limits::quiet_NaN()), a.stored(6, 2, 2) = T(Limits::infinity());
    Problems<T> v(5, 5, 9);
    std::fill(v.data.begin(), v.data.end(), T(8));
    std::vector<RealOf<T>> values(45);
    std::vector<int> info(9, -1);
    const FactorOptions options{.candidate = candidate};
    syev_batched(this->context, Uplo::lower, a.stored.batch(), values, v.batch(),
                 {InfoMode::all, info.data()}, options);
    EXPECT_EQ(info, (std::vector<int>{0, 0, 0, 10, 0, 0, 10, 0, 0})) << candidate;
    EXPECT_EQ(v(3, 4, 4), T(8));
    EXPECT_NE(v(4, 4, 4), T(8));
    Problems<T> b = make_problems<T>(FactorKind::random, 6, 3, 9);
    b(8, 5, 2) = T(-Limits::infinity());
    const Svd<T> svd(this->context, b, candidate);
    EXPECT_EQ(svd.info, (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0, 3})) << candidate;
    EXPECT_EQ(svd.u(8, 0, 0), T(0));
  }
}

TYPED_TEST(FactorJacobi, OneValueThatIsNotFiniteHasAnInfo) {
  using T = TypeParam;
  const T nan(std::numeric_limits<RealOf<T>>::quiet_NaN());
  for (const char* candidate : {"lanes", "blocked"}) {
    Problems<T> one(1, 1, 2), row = make_problems<T>(FactorKind::random, 1, 4, 2);
    one(0, 0, 0) = T(3), one(1, 0, 0) = nan, row(1, 0, 2) = nan;
    std::vector<RealOf<T>> values(2);
    std::vector<int> info(2, -1);
    const FactorOptions options{.candidate = candidate};
    syev_batched(this->context, Uplo::lower, one.batch(), values, {InfoMode::all, info.data()}, options);
    EXPECT_EQ(info, (std::vector<int>{0, 1})) << candidate;
    EXPECT_EQ(values[0], RealOf<T>(3));
    EXPECT_EQ(Svd<T>(this->context, row, candidate).info, (std::vector<int>{0, 1})) << candidate;
  }
}

std::string jacobi_refusal(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(FactorJacobiArguments, AreNamedWithTheirValues) {
  Context context(ContextOptions{.use_wisdom = false});
  Problems<double> a = make_problems<double>(FactorKind::random, 5, 3, 2), square(5, 5, 2), u(5, 3, 2),
                   vh(3, 3, 2);
  std::vector<double> values(10);
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(jacobi_refusal([&] { syev_batched(context, Uplo::lower, a.batch(), values); }), "a is 5 x 3");
  expect(jacobi_refusal([&] { syev_batched(context, Uplo::lower, square.batch(), values, vh.batch()); }),
         "vectors has 3 rows, but a");
  expect(jacobi_refusal([&] { gesvd_batched(context, a.batch(), std::span(values).first(5)); }),
         "values has 5 places");
  expect(jacobi_refusal([&] { gesvd_batched(context, a.batch(), values, square.batch(), vh.batch()); }),
         "u is 5 x 5, but must be 5 x 3");
  expect(jacobi_refusal([&] { gesvd_batched(context, a.batch(), values, u.batch(), u.batch()); }),
         "vh is 5 x 3, but must be 3 x 3");
  EXPECT_EQ(values, std::vector<double>(10));
}

}  // namespace
}  // namespace tilewright::testing
