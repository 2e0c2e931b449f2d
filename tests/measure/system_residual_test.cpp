// The residual ratios of batches of systems: right solutions pass, and a wrong one is found wherever it lies,
// by rows or by columns, unless its problem is known to have none.
#include "measure/system_residual.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <vector>

namespace tilewright::residuals {
namespace {

constexpr std::int64_t n = 3, nrhs = 2, count = 5;

// A is 2 on the diagonal and i below it, and -i above it where it is Hermitian; X is 1.
struct Systems {
  using T = std::complex<double>;
  std::vector<T> a = std::vector<T>(n * n * count), b = std::vector<T>(n * nrhs * count), x = b;
  bool is_hermitian = false;
  Uplo uplo;

  explicit Systems(bool hermitian, Uplo triangle = Uplo::lower) : is_hermitian(hermitian), uplo(triangle) {
    for (std::int64_t p = 0; p < count; ++p)
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const T above = hermitian ? T(0, -1) : T(0);
          const T value = i == j ? T(2) : i > j ? T(0, 1) : above;
          // The triangle that is not read holds something else.
          const bool is_read = !hermitian || i == j || (triangle == Uplo::lower) == (i > j);
          a[std::size_t((p * n + i) * n + j)] = is_read ? value : T(99);
          for (std::int64_t c = 0; c < nrhs; ++c) b[std::size_t((p * n + i) * nrhs + c)] += value;
        }
      }
    x.assign(x.size(), 1);
  }
  SystemVerifyResult verify(std::vector<int> infos = {}) const {
    SystemVerifyInput in;
    in.dtype = DType::c128, in.count = count, in.n = n, in.nrhs = nrhs;
    in.a = {a.data(), {n * n, n, 1}}, in.b = {b.data(), {n * nrhs, nrhs, 1}};
    in.x = {x.data(), {n * nrhs, nrhs, 1}};
    in.is_hermitian = is_hermitian, in.uplo = uplo, in.infos = infos;
    return verify_systems(in);
  }
};

TEST(SystemResidual, RightSolutionsPass) {
  for (const Systems& one : {Systems(false), Systems(true), Systems(true, Uplo::upper)}) {
    const SystemVerifyResult result = one.verify();
    EXPECT_EQ(result.ratio, 0);
    EXPECT_TRUE(result.passed());
    EXPECT_EQ(result.scope, "all problems");
  }
}

TEST(SystemResidual, AWrongSolutionIsFound) {
  for (std::int64_t p = 0; p < count; ++p) {
    Systems one(false);
    one.x[std::size_t((p * n + 1) * nrhs + 1)] = 1.0001;
    const SystemVerifyResult result = one.verify();
    EXPECT_FALSE(result.passed());
    EXPECT_EQ(result.problem, p);
    std::vector<int> infos(count);
    infos[std::size_t(p)] = 2;
    EXPECT_TRUE(one.verify(infos).passed());
    one.x[std::size_t(p * n * nrhs)] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(one.verify().passed());
    EXPECT_EQ(one.verify().problem, p);
  }
}

}  // namespace
}  // namespace tilewright::residuals
