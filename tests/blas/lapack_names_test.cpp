// Runs xGETRF, xGETRS and xGESV through every name: residuals, singular matrices, NaN, matrices by rows.
#include "blas/blas_cases.hpp"

namespace tilewright::blas_tests {
namespace {

template <class T>
Real<T> bound(std::int64_t n) {
  return Real<T>(200 * double(n + 1)) * std::numeric_limits<Real<T>>::epsilon();
}

// Returns |P A - L U|, with pivots counted from 1.
template <class T, class Int>
Real<T> residual(Matrix<T> a, const Matrix<T>& lu, const std::vector<Int>& pivots) {
  Real<T> worst(0);
  const std::int64_t count = std::min(a.rows, a.cols);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < a.cols; ++j)
      std::swap(a.at(i, j), a.at(std::int64_t(pivots[std::size_t(i)]) - 1, j));
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.cols; ++j) {
      T sum(0);
      for (std::int64_t l = 0; l < std::min({i + 1, j + 1, count}); ++l)
        sum += (l == i ? T(1) : lu.at(i, l)) * lu.at(l, j);
      worst = std::max(worst, std::abs(sum - a.at(i, j)));
    }
  return worst;
}

template <class T>
Real<T> solution_error(char op, const Matrix<T>& a, const Matrix<T>& x, const Matrix<T>& b) {
  Real<T> worst(0);
  for (std::int64_t i = 0; i < b.rows; ++i)
    for (std::int64_t j = 0; j < b.cols; ++j) {
      T sum(0);
      for (std::int64_t l = 0; l < a.rows; ++l) sum += element(op, a, i, l) * x.at(l, j);
      worst = std::max(worst, std::abs(sum - b.at(i, j)));
    }
  return worst;
}

template <class T>
Matrix<T> draw_regular(Random& random, std::int64_t n, bool by_rows) {
  Matrix<T> a = draw_matrix<T>(random, n, n, by_rows, draw(random, 0, 3));
  for (std::int64_t i = 0; i < n; ++i) a.at(i, i) += T(Real<T>(n));
  return a;
}

template <class T, class Int>
void check_fortran_getrf(const char* name) {
  auto* getrf = routine<void(const Int*, const Int*, T*, const Int*, Int*, Int*)>(name);
  ASSERT_NE(getrf, nullptr);
  Random random(31);
  for (const auto& [m, n] : {std::pair(30, 30), {70, 20}, {20, 70}, {1, 1}, {90, 90}, {0, 5}}) {
    Matrix<T> a = draw_matrix<T>(random, m, n, false, 2);
    const Matrix<T> before = a;
    std::vector<Int> pivots(std::size_t(std::min(m, n)) + 1, Int(-5));
    const Int rows = Int(m), cols = Int(n), lda = Int(a.ld);
    Int info = 9;
    getrf(&rows, &cols, a.data.data(), &lda, pivots.data(), &info);
    EXPECT_EQ(info, 0) << name;
    EXPECT_EQ(pivots.back(), -5);
    EXPECT_LT(residual(before, a, pivots), bound<T>(n)) << name;
  }
  Matrix<T> singular{2, 2, 2, false, {T(1), T(1), T(0), T(0)}};
  std::vector<Int> pivots(2);
  const Int two = 2;
  Int info = 0;
  getrf(&two, &two, singular.data.data(), &two, pivots.data(), &info);
  EXPECT_EQ(info, 2) << name;
}
TEST(LapackNames, FortranGetrf) { FOR_EACH_NAME(fortran, sdcz, getrf, check_fortran_getrf) }

template <class T, class Int>
void check_fortran_solve(const char* name) {
  // The routine that factors has the same name except for its end.
  std::string factor_name = name;
  factor_name.replace(factor_name.find("getrs"), 5, "getrf");
  auto* getrf = routine<void(const Int*, const Int*, T*, const Int*, Int*, Int*)>(factor_name.c_str());
  auto* getrs = routine<void(const char*, const Int*, const Int*, const T*, const Int*, const Int*, T*,
                             const Int*, Int*)>(name);
  ASSERT_TRUE(getrf != nullptr && getrs != nullptr);
  Random random(32);
  for (const char op : {'N', 'T', 'C'}) {
    const Matrix<T> a = draw_regular<T>(random, 40, false);
    Matrix<T> lu = a, b = draw_matrix<T>(random, 40, 3, false, 1);
    const Matrix<T> right = b;
    std::vector<Int> pivots(40);
    const Int n = 40, nrhs = 3, lda = Int(a.ld), ldb = Int(b.ld);
    Int info = 9;
    getrf(&n, &n, lu.data.data(), &lda, pivots.data(), &info);
    ASSERT_EQ(info, 0);
    info = 9;
    getrs(&op, &n, &nrhs, lu.data.data(), &lda, pivots.data(), b.data.data(), &ldb, &info);
    EXPECT_EQ(info, 0);
    EXPECT_LT(solution_error(op, a, b, right), bound<T>(40)) << name << op;
  }
}
TEST(LapackNames, FortranGetrs) { FOR_EACH_NAME(fortran, sdcz, getrs, check_fortran_solve) }

template <class T, class Int>
void check_fortran_gesv(const char* name) {
  auto* gesv = routine<void(const Int*, const Int*, T*, const Int*, Int*, T*, const Int*, Int*)>(name);
  ASSERT_NE(gesv, nullptr);
  Random random(33);
  const Matrix<T> before = draw_regular<T>(random, 50, false);
  Matrix<T> a = before, b = draw_matrix<T>(random, 50, 4, false, 2);
  const Matrix<T> right = b;
  std::vector<Int> pivots(50);
  const Int n = 50, nrhs = 4, lda = Int(a.ld), ldb = Int(b.ld);
  Int info = 9;
  gesv(&n, &nrhs, a.data.data(), &lda, pivots.data(), b.data.data(), &ldb, &info);
  EXPECT_EQ(info, 0);
  EXPECT_LT(solution_error('N', before, b, right), bound<T>(50)) << name;
  EXPECT_LT(residual(before, a, pivots), bound<T>(50) * 50) << name;
  // The right-hand sides of a singular matrix are unchanged.
  Matrix<T> zero = a;
  for (T& x : zero.data) x = T(0);
  Matrix<T> kept = right;
  gesv(&n, &nrhs, zero.data.data(), &lda, pivots.data(), kept.data.data(), &ldb, &info);
  EXPECT_EQ(info, 1) << name;
  EXPECT_EQ(kept.data, right.data);
}
TEST(LapackNames, FortranGesv) { FOR_EACH_NAME(fortran, sdcz, gesv, check_fortran_gesv) }

// Only calls that are served here: other libraries multiply by the reciprocals of pivots, which overflow.
template <class T, class Int>
void check_subnormal_pivots(const char* name) {
  auto* gesv = routine<void(const Int*, const Int*, T*, const Int*, Int*, T*, const Int*, Int*)>(name);
  ASSERT_NE(gesv, nullptr);
  for (const Int n : {1, 2, 30})
    for (const Int nrhs : {1, 3}) {
      const T pivot = std::numeric_limits<Real<T>>::min() / 4;
      std::vector<T> a(std::size_t(n * n)), b(std::size_t(n * nrhs));
      std::vector<Int> pivots(std::size_t(n), 0);
      for (Int i = 0; i < n; ++i) {
        a[std::size_t(i * (n + 1))] = pivot;
        if (i + 1 < n) a[std::size_t(i * (n + 1) + 1)] = pivot / Real<T>(4);
        for (Int j = 0; j < nrhs; ++j) b[std::size_t(j * n + i)] = pivot * Real<T>(i == 0 ? 1 : 1.25);
      }
      Int info = 9;
      gesv(&n, &nrhs, a.data(), &n, pivots.data(), b.data(), &n, &info);
      EXPECT_EQ(info, 0) << name;
      for (const T& x : b) EXPECT_EQ(x, T(1)) << name << " n=" << n << " nrhs=" << nrhs;
      if (n > 1) {
        EXPECT_EQ(a[1], T(Real<T>(0.25))) << name;
      }
    }
}
TEST(LapackNames, SubnormalPivotsAreDividedBy) {
  const char* const mode = std::getenv("TILEWRIGHT_BLAS");
  if (mode == nullptr || std::string(mode) != "all") GTEST_SKIP() << "the program's library serves";
  FOR_EACH_NAME(fortran, sdcz, gesv, check_subnormal_pivots)
}

template <class T, class Int>
void check_lapacke_getrf(const char* name) {
  auto* getrf = routine<Int(int, Int, Int, T*, Int, Int*)>(name);
  ASSERT_NE(getrf, nullptr);
  Random random(34);
  for (const bool by_rows : {false, true}) {
    Matrix<T> a = draw_matrix<T>(random, 35, 20, by_rows, 2);
    const Matrix<T> before = a;
    std::vector<Int> pivots(20);
    EXPECT_EQ(getrf(by_rows ? 101 : 102, 35, 20, a.data.data(), Int(a.ld), pivots.data()), 0);
    EXPECT_LT(residual(before, a, pivots), bound<T>(35)) << name;
    EXPECT_EQ(getrf(by_rows ? 101 : 102, 35, 20, a.data.data(), 19, pivots.data()), -5) << name;
    EXPECT_EQ(getrf(100, 35, 20, a.data.data(), Int(a.ld), pivots.data()), -1) << name;
    EXPECT_EQ(getrf(by_rows ? 101 : 102, 35, -1, a.data.data(), Int(a.ld), pivots.data()), -3) << name;
    a.at(3, 3) = std::numeric_limits<Real<T>>::quiet_NaN();
    EXPECT_EQ(getrf(by_rows ? 101 : 102, 35, 20, a.data.data(), Int(a.ld), pivots.data()), -4) << name;
  }
}
TEST(LapackNames, LapackeGetrf) { FOR_EACH_NAME(lapacke, sdcz, getrf, check_lapacke_getrf) }

template <class T, class Int>
void check_lapacke_gesv(const char* name) {
  std::string factor_name = name, solve_name = name;
  factor_name.replace(factor_name.find("gesv"), 4, "getrf");
  solve_name.replace(solve_name.find("gesv"), 4, "getrs");
  auto* gesv = routine<Int(int, Int, Int, T*, Int, Int*, T*, Int)>(name);
  auto* getrf = routine<Int(int, Int, Int, T*, Int, Int*)>(factor_name.c_str());
  auto* getrs = routine<Int(int, char, Int, Int, const T*, Int, const Int*, T*, Int)>(solve_name.c_str());
  ASSERT_TRUE(gesv != nullptr && getrf != nullptr && getrs != nullptr);
  Random random(35);
  for (const bool by_rows : {false, true}) {
    const int layout = by_rows ? 101 : 102;
    const Matrix<T> before = draw_regular<T>(random, 30, by_rows),
                    right = draw_matrix<T>(random, 30, 4, by_rows, 1);
    Matrix<T> a = before, b = right;
    std::vector<Int> pivots(30);
    EXPECT_EQ(gesv(layout, 30, 4, a.data.data(), Int(a.ld), pivots.data(), b.data.data(), Int(b.ld)), 0);
    EXPECT_LT(solution_error('N', before, b, right), bound<T>(30)) << name;
    a = before, b = right;
    EXPECT_EQ(getrf(layout, 30, 30, a.data.data(), Int(a.ld), pivots.data()), 0);
    EXPECT_EQ(getrs(layout, 'T', 30, 4, a.data.data(), Int(a.ld), pivots.data(), b.data.data(), Int(b.ld)),
              0);
    EXPECT_LT(solution_error('T', before, b, right), bound<T>(30)) << solve_name;
    EXPECT_EQ(gesv(layout, 30, 4, a.data.data(), 29, pivots.data(), b.data.data(), Int(b.ld)), -5) << name;
    EXPECT_EQ(gesv(layout, 30, 4, a.data.data(), Int(a.ld), pivots.data(), b.data.data(), 3), -8) << name;
  }
}
TEST(LapackNames, LapackeGesvAndGetrs) { FOR_EACH_NAME(lapacke, sdcz, gesv, check_lapacke_gesv) }

}  // namespace
}  // namespace tilewright::blas_tests
