// The residual ratios of factors and solutions: right ones pass, and nothing that holds no numbers does,
// wherever it lies.
#include "measure/lu_residual.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace tilewright {
namespace {

constexpr std::int64_t n = 4, nrhs = 3;

struct System {
  std::vector<double> a = std::vector<double>(n * n), lu = a, b = std::vector<double>(n * nrhs), x = b;
  std::vector<std::int64_t> pivots = std::vector<std::int64_t>(n);

  // A is its own U.
  System() {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i <= j; ++i) a[j * n + i] = lu[j * n + i] = double(1 + i + j);
    std::iota(pivots.begin(), pivots.end(), 1);
    x.assign(x.size(), 1);
    for (std::int64_t c = 0; c < nrhs; ++c)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) b[c * n + i] += a[j * n + i];
  }
  LuVerifyResult verify() const {
    return verify_lu({.m = n,
                      .n = n,
                      .a = a.data(),
                      .lu = lu.data(),
                      .pivots = pivots.data(),
                      .nrhs = nrhs,
                      .b = b.data(),
                      .x = x.data()});
  }
};

TEST(LuResidual, OfWhatIsRight) {
  const LuVerifyResult result = System().verify();
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.ratio, 0);
  EXPECT_EQ(result.solve_ratio, 0);
}

TEST(LuResidual, OfWhatIsWrong) {
  System factors, solution;
  factors.lu[n] += 1e-3;
  EXPECT_FALSE(factors.verify().passed());
  solution.x.front() += 1e-3;
  EXPECT_FALSE(solution.verify().passed());
}

TEST(LuResidual, OfWhatIsNoNumber) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const auto member : {&System::a, &System::lu, &System::b, &System::x}) {
      const std::size_t count = (System().*member).size();
      for (std::size_t i = 0; i < count; ++i) {
        System system;
        (system.*member)[i] = value;
        EXPECT_FALSE(system.verify().passed()) << value << " at " << i << " of " << count;
      }
    }
}

}  // namespace
}  // namespace tilewright
