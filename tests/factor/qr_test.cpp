// QR, products with Q and least squares of batches, by LAPACK's residual ratios.
#include <cmath>
#include <string>
#include <tuple>

#include "factor_cases.hpp"
#include "gemm/context_impl.hpp"

namespace tilewright::testing {
namespace {

template <class T>
class FactorQr : public ::testing::Test {
 protected:
  Context context{ContextOptions{.use_wisdom = false}};
};
using QrTypes = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(FactorQr, QrTypes);

template <class T>
struct QrFactors {
  QrFactors(Context& context, const Problems<T>& a, const std::string& candidate)
      : qr(a), steps(std::min(a.rows, a.cols)), tau(std::size_t(steps * a.count)) {
    geqrf_batched(context, qr.batch(), tau, {.candidate = candidate});
  }
  Problems<T> qr;
  std::int64_t steps;
  std::vector<T> tau;
};

// Q as the reflectors define it: (I - tau v v^H) ... of problem p, in the wider type.
template <class T>
std::vector<Wide<T>> defined_q(const QrFactors<T>& f, std::int64_t p) {
  const std::int64_t m = f.qr.rows;
  std::vector<Wide<T>> q(std::size_t(m * m));
  for (std::int64_t i = 0; i < m; ++i) q[std::size_t(i * m + i)] = 1;
  for (std::int64_t k = f.steps - 1; k >= 0; --k)
    for (std::int64_t j = 0; j < m; ++j) {
      const auto v = [&](std::int64_t i) { return i == k ? Wide<T>(1) : Wide<T>(f.qr(p, i, k)); };
      Wide<T> sum(0);
      for (std::int64_t i = k; i < m; ++i) sum += conj_value(v(i)) * q[std::size_t(j * m + i)];
      sum *= Wide<T>(f.tau[std::size_t(p * f.steps + k)]);
      for (std::int64_t i = k; i < m; ++i) q[std::size_t(j * m + i)] -= v(i) * sum;
    }
  return q;
}

// ||A - Q R|| / (||A|| max(m, n) eps) of the worst problem, xGEQRT's first ratio.
template <class T>
long double residual_of(const Problems<T>& a, const Problems<T>& q, const Problems<T>& qr) {
  long double worst = 0;
  for (std::int64_t p = 0; p < a.count; ++p) {
    const long double norm = column_sum(a.rows, a.cols, [&](std::int64_t i, std::int64_t j) {
      Wide<T> value = -Wide<T>(a(p, i, j));
      for (std::int64_t k = 0; k <= std::min(j, a.rows - 1); ++k)
        value += Wide<T>(q(p, i, k)) * Wide<T>(qr(p, k, j));
      return value;
    });
    const long double size = norm_of(a, p);
    const long double ratio = norm == 0 ? 0 : norm / size;
    worst = std::isnan(ratio) ? ratio : std::max(worst, ratio);
  }
  return worst / (static_cast<long double>(std::max(a.rows, a.cols)) * epsilon_of<T>());
}

template <class T>
void expect_factors(Context& context, const Problems<T>& a, const std::string& candidate, bool by_rows) {
  const QrFactors<T> f(context, a, candidate);
  Problems<T> q = unit_problems<T>(a.rows, a.count, by_rows);
  Problems<T> reflectors = f.qr;
  ormqr_batched(context, Op::none, reflectors.batch(), f.tau, q.batch(), {.candidate = candidate});
  EXPECT_LT(orthogonality(q), 10);
  EXPECT_LT(residual_of(a, q, f.qr), 10);
  const auto defined = defined_q(f, a.count - 1);
  for (std::int64_t j = 0; j < a.rows; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i)
      EXPECT_LT(std::abs(defined[std::size_t(j * a.rows + i)] - Wide<T>(q(a.count - 1, i, j))),
                10 * static_cast<long double>(a.rows) * epsilon_of<T>());
  for (std::int64_t p = 0; p < a.count; ++p)
    for (std::int64_t k = 0; k < f.steps; ++k) EXPECT_EQ(std::imag(f.qr(p, k, k)), 0);
}

TYPED_TEST(FactorQr, ResidualsAreLapacks) {
  using T = TypeParam;
  for (const char* candidate : {"lanes", "blocked"})
    for (const FactorKind kind : factor_kinds)
      for (const auto& [m, n, count, by_rows] : {std::tuple{1, 1, 5, false},
                                                 {5, 5, 37, true},
                                                 {9, 4, 5, false},
                                                 {4, 9, 37, true},
                                                 {17, 17, 1, false},
                                                 {33, 20, 5, true},
                                                 {3, 1, 37, false},
                                                 {1, 3, 5, true}}) {
        SCOPED_TRACE(std::string(candidate) + " " + name_of(kind) + " " + std::to_string(m) + " x " +
                     std::to_string(n));
        expect_factors(this->context, make_problems<T>(kind, m, n, count, by_rows), candidate, by_rows);
      }
  expect_factors(this->context, make_problems<T>(FactorKind::random, 64, 64, 3), "lanes", false);
  expect_factors(this->context, make_problems<T>(FactorKind::graded, 90, 70, 2), "", false);
  expect_factors(this->context, make_problems<T>(FactorKind::random, 40, 70, 2, true), "blocked", true);
}

// Above the sizes of lanes, LAPACK factors if the library has it.
TYPED_TEST(FactorQr, LargeMatricesWithAndWithoutALibrary) {
  using T = TypeParam;
  Context without(ContextOptions{.use_wisdom = false});
  Access::impl(without).environment.cblas = "none";
  for (Context* const own : {&this->context, &without}) {
    SCOPED_TRACE(own == &without ? "none" : "");
    for (const FactorKind kind : factor_kinds) {
      SCOPED_TRACE(name_of(kind));
      expect_factors(*own, make_problems<T>(kind, 65, 65, 2, true), "", false);
    }
    for (const auto& [m, n] : {std::pair{80, 30}, {30, 80}, {130, 130}}) {
      SCOPED_TRACE(m);
      expect_factors(*own, make_problems<T>(FactorKind::random, m, n, 1), "", true);
    }
  }
}

TYPED_TEST(FactorQr, SignsAndTauAreThoseOfLapack) {
  using T = TypeParam;
  for (const char* candidate : {"lanes", "blocked"}) {
    Problems<T> a(3, 2, 3);
    a(0, 0, 0) = T(-3), a(0, 2, 0) = T(4), a(0, 1, 1) = T(2);  // beta = 5, tau = 8/5, v = (1, 0, -1/2)
    a(1, 0, 0) = T(3), a(1, 0, 1) = T(7);                      // of triangular form: H is the identity
    a(2, 0, 0) = T(0), a(2, 1, 0) = T(2);                      // a zero counts as positive
    const QrFactors<T> f(this->context, a, candidate);
    const auto near = [](T x, double y) { return std::abs(x - T(RealOf<T>(y))) <= 4 * epsilon_of<T>(); };
    EXPECT_TRUE(near(f.qr(0, 0, 0), 5) && near(f.tau[0], 1.6) && near(f.qr(0, 2, 0), -0.5)) << candidate;
    EXPECT_EQ(f.qr(0, 1, 0), T(0));
    EXPECT_TRUE(near(f.qr(0, 1, 1), 2) && f.tau[1] == T(0)) << candidate;
    EXPECT_TRUE(f.qr(1, 0, 0) == T(3) && f.qr(1, 0, 1) == T(7) && f.tau[2] == T(0) && f.tau[3] == T(0));
    EXPECT_TRUE(near(f.qr(2, 0, 0), -2) && near(f.tau[4], 1) && near(f.qr(2, 1, 0), 1)) << candidate;
  }
}

TYPED_TEST(FactorQr, ColumnsThatAreNotNumbersStayAmongThemselves) {
  using T = TypeParam;
  for (const char* candidate : {"lanes", "blocked"}) {
    Problems<T> a = make_problems<T>(FactorKind::random, 6, 6, 9);
    const QrFactors<T> before(this->context, a, candidate);
    a(4, 2, 0) = T(std::numeric_limits<RealOf<T>>::quiet_NaN());
    a(7, 5, 0) = T(std::numeric_limits<RealOf<T>>::infinity());
    const QrFactors<T> f(this->context, a, candidate);
    for (std::int64_t p = 0; p < a.count; ++p)
      for (std::int64_t i = 0; i < 6; ++i) {
        if (p == 4 || p == 7)
          EXPECT_TRUE(std::isnan(std::abs(f.qr(p, i, 5)))) << p << " " << candidate;
        else
          EXPECT_EQ(f.qr(p, i, 5), before.qr(p, i, 5)) << p << " " << candidate;
      }
  }
}

TYPED_TEST(FactorQr, QAndItsAdjointAreInverse) {
  using T = TypeParam;
  for (const char* candidate : {"lanes", "blocked"})
    for (const auto& [m, n, nrhs] : {std::tuple{12, 7, 5}, {20, 20, 1}, {6, 11, 9}, {64, 50, 3}}) {
      QrFactors<T> f(this->context, make_problems<T>(FactorKind::random, m, n, 5), candidate);
      const Problems<T> b = make_problems<T>(FactorKind::random, m, nrhs, 5, true);
      Problems<T> x = b;
      ormqr_batched(this->context, Op::conj_trans, f.qr.batch(), f.tau, x.batch(), {.candidate = candidate});
      EXPECT_NE(x.data, b.data);
      ormqr_batched(this->context, Op::none, f.qr.batch(), f.tau, x.batch(), {.candidate = candidate});
      for (std::size_t i = 0; i < b.data.size(); ++i)
        EXPECT_LT(std::abs(x.data[i] - b.data[i]), 10 * m * epsilon_of<T>()) << candidate << " " << m;
    }
}

// ||A^H (B - A X)|| / (||A|| ||B|| max(m, n) eps) of the worst problem, xQRT17. A graded problem is held to
// it as well: the residual is orthogonal to A's columns whatever its condition is.
template <class T>
long double normal_residual(const Problems<T>& a, const Problems<T>& x, const Problems<T>& b) {
  long double worst = 0;
  for (std::int64_t p = 0; p < a.count; ++p) {
    Problems<Wide<T>> r(b.rows, b.cols, 1);
    for (std::int64_t j = 0; j < b.cols; ++j)
      for (std::int64_t i = 0; i < b.rows; ++i) {
        r(0, i, j) = Wide<T>(b(p, i, j));
        for (std::int64_t k = 0; k < a.cols; ++k) r(0, i, j) -= Wide<T>(a(p, i, k)) * Wide<T>(x(p, k, j));
      }
    const long double norm = column_sum(a.cols, b.cols, [&](std::int64_t i, std::int64_t j) {
      Wide<T> sum(0);
      for (std::int64_t k = 0; k < a.rows; ++k) sum += conj_value(Wide<T>(a(p, k, i))) * r(0, k, j);
      return sum;
    });
    const long double size = norm_of(a, p) * (norm_of(b, p) + norm_of(a, p) * norm_of(x, p));
    const long double ratio = norm == 0 ? 0 : norm / size;
    worst = std::isnan(ratio) ? ratio : std::max(worst, ratio);
  }
  return worst / (static_cast<long double>(std::max(a.rows, a.cols)) * epsilon_of<T>());
}

TYPED_TEST(FactorQr, LeastSquaresSolveTheNormalEquations) {
  using T = TypeParam;
  for (const char* candidate : {"lanes", "blocked"})
    for (const FactorKind kind : {FactorKind::random, FactorKind::graded})
      for (const auto& [m, n, nrhs, count] :
           {std::tuple{1, 1, 1, 5}, {9, 4, 3, 37}, {20, 20, 1, 5}, {40, 17, 5, 1}, {64, 64, 2, 3}}) {
        const bool by_rows = count == 5;
        Problems<T> a = make_problems<T>(kind, m, n, count, by_rows);
        const Problems<T> b = make_problems<T>(FactorKind::random, m, nrhs, count, !by_rows, 9);
        Problems<T> x = b;
        const Problems<T> before = a;
        std::vector<int> info(std::size_t(count), -1);
        gels_batched(this->context, a.batch(), x.batch(), {InfoMode::all, info.data()},
                     {.candidate = candidate});
        EXPECT_EQ(a.data, before.data);
        EXPECT_EQ(info, std::vector<int>(std::size_t(count), 0));
        EXPECT_LT(normal_residual(a, x, b), 10)
            << candidate << " " << name_of(kind) << " " << m << " x " << n;
        // The other rows hold the residual's norm.
        for (std::int64_t j = 0; j < nrhs; ++j) {
          long double rest = 0, residual = 0;
          for (std::int64_t i = 0; i < m; ++i) {
            Wide<T> r(b(0, i, j));
            for (std::int64_t k = 0; k < n; ++k) r -= Wide<T>(a(0, i, k)) * Wide<T>(x(0, k, j));
            residual += std::norm(r), rest += i < n ? 0 : std::norm(Wide<T>(x(0, i, j)));
          }
          if (kind != FactorKind::random) continue;
          EXPECT_LT(std::abs(std::sqrt(rest) - std::sqrt(residual)), 1000 * m * epsilon_of<T>());
        }
      }
}

TYPED_TEST(FactorQr, ColumnsOfZerosHaveAnInfo) {
  using T = TypeParam;
  for (const char* candidate : {"lanes", "blocked"}) {
    Problems<T> a = make_problems<T>(FactorKind::random, 7, 4, 5);
    for (std::int64_t i = 0; i < 7; ++i) a(3, i, 2) = T(0);
    const Problems<T> b = make_problems<T>(FactorKind::random, 7, 2, 5);
    Problems<T> x = b;
    std::vector<int> info(5, -1);
    gels_batched(this->context, a.batch(), x.batch(), {InfoMode::all, info.data()}, {.candidate = candidate});
    EXPECT_EQ(info, (std::vector<int>{0, 0, 0, 3, 0})) << candidate;
    for (std::int64_t i = 0; i < 7; ++i) EXPECT_EQ(x(3, i, 1), b(3, i, 1)) << candidate;
    EXPECT_NE(x(4, 0, 0), b(4, 0, 0));
  }
}

// Neighbouring problems side by side, tau as ever: the same numbers.
TYPED_TEST(FactorQr, InterleavedBatchesHaveTheSameFactors) {
  using T = TypeParam;
  const std::int64_t m = 6, n = 4, count = 11, block = 4;
  const Problems<T> a = make_problems<T>(FactorKind::random, m, n, count);
  const QrFactors<T> f(this->context, a, "lanes");
  std::vector<T> elements(std::size_t((count + block - 1) / block * block * m * n)), tau(f.tau.size());
  const auto place = [&](std::int64_t p, std::int64_t i, std::int64_t j) -> T& {
    return elements[std::size_t(p / block * block * m * n + (j * m + i) * block + p % block)];
  };
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) place(p, i, j) = a(p, i, j);
  geqrf_batched(this->context, InterleavedBatch<T>{elements.data(), m, n, m, block, count}, tau);
  EXPECT_EQ(tau, f.tau);
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t i = 0; i < m; ++i) EXPECT_EQ(place(p, i, 2), f.qr(p, i, 2)) << p;
}

std::string refusal_of(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(FactorQrArguments, AreNamedWithTheirValues) {
  using C = std::complex<double>;
  Context context(ContextOptions{.use_wisdom = false});
  Problems<C> a = make_problems<C>(FactorKind::random, 3, 5, 2), b(5, 1, 2);
  const Problems<C> before = a;
  std::vector<C> tau(6);
  const auto fault = [&](auto&& call) { return refusal_of(call); };
  EXPECT_NE(
      fault([&] { geqrf_batched(context, a.batch(), std::span(tau).first(5)); }).find("tau has 5 places"),
      std::string::npos);
  EXPECT_NE(fault([&] { gels_batched(context, a.batch(), b.batch()); }).find("a is 3 x 5"),
            std::string::npos);
  EXPECT_NE(
      fault([&] { ormqr_batched(context, Op::none, a.batch(), tau, b.batch()); }).find("b has 5 rows, but a"),
      std::string::npos);
  Problems<C> c(3, 1, 2);
  EXPECT_NE(fault([&] { ormqr_batched(context, Op::trans, a.batch(), tau, c.batch()); }).find("op = trans"),
            std::string::npos);
  EXPECT_EQ(a.data, before.data);
  Problems<C> none(0, 4, 2);
  geqrf_batched(context, none.batch(), std::span<C>());
}

}  // namespace
}  // namespace tilewright::testing
