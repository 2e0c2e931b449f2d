// The names that take precedence over ScaLAPACK's, with a fake ScaLAPACK of one process: right factors by
// deep products, calls that are left to ScaLAPACK, and the positions of a process's own blocks.
// scripts/scalapack check tests real ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "fake_scalapack.hpp"
#include "scalapack/account.hpp"
#include "scalapack/block.hpp"
#include "scalapack/factor.hpp"
#include "scalapack/on_gpus.hpp"
#include "scalapack/panel.hpp"

namespace tilewright::scalapack {
namespace {

template <class T>
struct Matrix {
  Matrix(int m, int n, int nb, int seed = 1)
      : desc{1, 0, m, n, nb, nb, 0, 0, m + 3},
        values(std::size_t(m + 3) * std::size_t(n)),
        pivots(std::size_t(m + nb)) {
    std::mt19937 random{unsigned(seed)};
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (T& value : values) value = T(uniform(random));
  }
  int desc[9];
  std::vector<T> values;
  std::vector<int> pivots;
};

template <class T>
void expect_same_factors(int m, int n, int nb, int ia, int ja) {
  Matrix<T> own(m + ia - 1, n + ja - 1, nb), theirs = own;
  int info = 7, their_info = 7;
  factor<T>(&m, &n, own.values.data(), &ia, &ja, own.desc, own.pivots.data(), &info);
  routines<T>().their_factor(&m, &n, theirs.values.data(), &ia, &ja, theirs.desc, theirs.pivots.data(),
                             &their_info);
  const std::string what = std::to_string(m) + " x " + std::to_string(n) + " from " + std::to_string(ia) +
                           ", " + std::to_string(ja) + ", nb " + std::to_string(nb);
  EXPECT_EQ(info, their_info) << what;
  for (int i = 0; i < std::min(m, n); ++i)
    EXPECT_EQ(own.pivots[std::size_t(ia - 1 + i)], theirs.pivots[std::size_t(ia - 1 + i)])
        << what << " at " << i;
  double worst = 0;
  for (std::size_t i = 0; i < own.values.size(); ++i)
    worst = std::max(worst, double(std::abs(own.values[i] - theirs.values[i])));
  EXPECT_LT(worst, sizeof(T) == sizeof(float) || sizeof(T) == 2 * sizeof(float) ? 1e-2 : 1e-9) << what;
}

// Includes submatrices, whose pivots count from the matrix's first row, and a zero pivot.
TEST(ScaLapack, FactorizationsOnGpusAreTheirs) {
  least_work_on_gpus = 1, fake_gpus.takes_part = true;
  const int before = fake_gpus.factored;
  expect_same_factors<double>(40, 40, 16, 1, 1);
  expect_same_factors<double>(61, 37, 8, 9, 17);
  expect_same_factors<double>(30, 50, 8, 17, 1);
  EXPECT_EQ(fake_gpus.factored, before + 3);
  Matrix<double> zero(9, 9, 4);
  std::fill(zero.values.begin(), zero.values.begin() + 5 * 12, 0.0);
  const int m = 9, one = 1;
  int info = 7;
  factor<double>(&m, &m, zero.values.data(), &one, &one, zero.desc, zero.pivots.data(), &info);
  EXPECT_EQ(info, 1);
  EXPECT_NE(Account::account().text().find("on GPUs"), std::string::npos);
  fake_gpus.takes_part = false;
  const int asked = fake_gpus.asked;
  expect_same_factors<double>(40, 40, 16, 1, 1);
  EXPECT_EQ(fake_gpus.asked, asked + 1) << "and all did without";
  least_work_on_gpus = 2e10;
  expect_same_factors<double>(40, 40, 16, 1, 1);
  EXPECT_EQ(fake_gpus.asked, asked + 1) << "too little to ask";
  EXPECT_EQ(fake_gpus.factored, before + 4);
}

// Prints a line at the end of the process, with every part of it.
TEST(ScaLapack, AccountsForWhatFactorizationsSpend) {
  int m = 200, one = 1, info = 0;
  Matrix<double> a(m, m, 8);
  factor<double>(&m, &m, a.values.data(), &one, &one, a.desc, a.pivots.data(), &info);
  const std::string text = Account::account().text();
  EXPECT_NE(text.find(" factorization"), std::string::npos) << text;
  for (const char* name : {"panels", "swaps", "triangles", "products"}) {
    const auto at = text.find(std::string(" ") + name + " ");
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_GT(std::stod(text.substr(at + std::string(name).size() + 2)), 0) << text;
  }
}

TEST(ScaLapack, FactorsAreTheirsInEveryShape) {
  for (const auto& [m, n] :
       std::vector<std::pair<int, int>>{{40, 40}, {41, 40}, {37, 61}, {61, 37}, {3, 50}, {50, 3}, {1, 9}})
    for (const int nb : {4, 7, 16, 64}) {
      expect_same_factors<double>(m, n, nb, 1, 1);
      expect_same_factors<double>(m, n, nb, nb + 1, 2 * nb + 1);
    }
  expect_same_factors<float>(33, 29, 8, 1, 1);
  expect_same_factors<std::complex<float>>(33, 29, 8, 9, 1);
  expect_same_factors<std::complex<double>>(33, 45, 8, 1, 9);
}

TEST(ScaLapack, ProductsAreDeepAndFew) {
  const int n = 256, nb = 8, one = 1;
  Matrix<double> a(n, n, nb);
  int info = 0;
  fake_calls = {};
  factor<double>(&n, &n, a.values.data(), &one, &one, a.desc, a.pivots.data(), &info);
  EXPECT_EQ(info, 0);
  EXPECT_EQ(fake_calls.deepest, n / 2);
  EXPECT_EQ(fake_calls.local_factor, n / nb);
  EXPECT_EQ(fake_calls.factor + fake_calls.panel + fake_calls.swap, 0) << "nothing was left to ScaLAPACK";
  // Block by block C would be updated n / nb / 3 = 11 times n^2.
  EXPECT_LT(fake_calls.updated, 3.0 * n * n);
}

TEST(ScaLapack, TheFirstZeroPivotIsTold) {
  const int n = 24, nb = 4, one = 1;
  Matrix<double> a(n, n, nb);
  for (const int column : {17, 9})
    for (int i = 0; i < n; ++i)
      a.values[std::size_t(column) * std::size_t(a.desc[lld_]) + std::size_t(i)] = 0;
  int info = 0;
  factor<double>(&n, &n, a.values.data(), &one, &one, a.desc, a.pivots.data(), &info);
  EXPECT_EQ(info, 10);
}

TEST(ScaLapack, BadArgumentsAreLeftToTheirs) {
  Matrix<double> a(20, 20, 4);
  const std::vector<double> before = a.values;
  for (const auto& [m, n, ia] : std::vector<std::array<int, 3>>{{-1, 4, 1}, {4, -1, 1}, {4, 4, 2}}) {
    fake_calls = {};
    int info = 0;
    const int one = 1;
    factor<double>(&m, &n, a.values.data(), &ia, &one, a.desc, a.pivots.data(), &info);
    EXPECT_EQ(info, -99);
    EXPECT_EQ(fake_calls.factor, 1);
  }
  EXPECT_EQ(a.values, before);
}

TEST(ScaLapack, SeveralRowsOfProcessesKeepTheirPanelsAndSwaps) {
  const int n = 8, one = 1;
  Matrix<double> a(n, n, n);
  int info = 0;
  fake_calls = {};
  fake_calls.rows = 2;
  factor_panel<double>(&n, &n, a.values.data(), &one, &one, a.desc, a.pivots.data(), &info);
  swap<double>("F", "R", &n, a.values.data(), &one, &one, a.desc, &one, &n, a.pivots.data());
  EXPECT_EQ(fake_calls.panel, 1);
  EXPECT_EQ(fake_calls.swap, 1);
  EXPECT_EQ(fake_calls.local_factor + fake_calls.local_swap, 0);
  fake_calls = {};
  swap<double>("F", "C", &n, a.values.data(), &one, &one, a.desc, &one, &n, a.pivots.data());
  EXPECT_EQ(fake_calls.swap, 1) << "columns are always theirs";
}

TEST(ScaLapack, RowsSwappedBackAreWhereTheyWere) {
  const int n = 12, one = 1, from = 3, columns = 7;
  Matrix<double> a(n, n, 4);
  const std::vector<double> before = a.values;
  std::mt19937 random{5};
  for (int i = 0; i < n; ++i) a.pivots[std::size_t(i)] = i + 1 + int(random() % unsigned(n - i));
  swap<double>("Forward", "Rowwise", &columns, a.values.data(), &one, &from, a.desc, &one, &n,
               a.pivots.data());
  EXPECT_NE(a.values, before);
  swap<double>("Backward", "Rowwise", &columns, a.values.data(), &one, &from, a.desc, &one, &n,
               a.pivots.data());
  EXPECT_EQ(a.values, before);
}

TEST(ScaLapack, OwnColumnsAreCounted) {
  for (const int nb : {1, 3, 8})
    for (const int processes : {1, 2, 5})
      for (int source = 0; source < processes; ++source)
        for (int process = 0; process < processes; ++process) {
          const int desc[9] = {1, 0, 100, 100, nb, nb, source, source, 100};
          const Place place{processes, processes, process, process};
          int own = 0;
          for (int j = 1; j <= 50; ++j) {
            EXPECT_EQ(own_columns_before(j, desc, place), own) << j << " nb " << nb << " of " << processes;
            EXPECT_EQ(own_rows_before(j, desc, place), own);
            own += ((j - 1) / nb + source) % processes == process;
          }
        }
}

TEST(ScaLapack, TheBlockIsReadOrTheUsualOne) {
  EXPECT_EQ(block_of_text(nullptr), 256);
  EXPECT_EQ(block_of_text(""), 256);
  EXPECT_EQ(block_of_text("4096"), 4096);
  for (const char* wrong : {"0", "-4", "many", "12x", "99999999"})
    EXPECT_EQ(block_of_text(wrong), 256) << wrong;
}

}  // namespace
}  // namespace tilewright::scalapack
