// LU through the C interface: each function once, and statuses of bad arguments with outputs left alone.
#include <gtest/gtest.h>

#include <complex>
#include <string>
#include <vector>

#include "tilewright/tilewright.h"

namespace {

class CApiLu : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(tilewright_create(nullptr, nullptr, &context), TILEWRIGHT_OK); }
  void TearDown() override { tilewright_destroy(context); }

  tilewright_context* context = nullptr;
  const std::vector<double> a{1, 4, 2, 3};  // [1 2; 4 3]
  std::vector<double> lu = a;
  std::vector<int64_t> pivots{0, 0};
  int64_t info = -1;
};

TEST_F(CApiLu, FactorsSolvesRefinesAndInverts) {
  ASSERT_EQ(tilewright_lu_factor(context, TILEWRIGHT_F64, 2, 2, lu.data(), 2, pivots.data(), &info, nullptr),
            TILEWRIGHT_OK);
  EXPECT_EQ(info, 0);
  EXPECT_EQ(pivots, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(lu, (std::vector<double>{4, 0.25, 3, 1.25}));
  const std::vector<double> b{5, 10};
  std::vector<double> x = b;
  ASSERT_EQ(tilewright_lu_solve(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, 2, 1, lu.data(), 2, pivots.data(),
                                x.data(), 2, nullptr),
            TILEWRIGHT_OK);
  EXPECT_NEAR(x[0], 1, 1e-14);
  EXPECT_NEAR(x[1], 2, 1e-14);
  double error = -1;
  ASSERT_EQ(tilewright_lu_refine(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, 2, 1, a.data(), 2, lu.data(), 2,
                                 pivots.data(), b.data(), 2, x.data(), 2, &error, nullptr),
            TILEWRIGHT_OK);
  EXPECT_TRUE(error >= 0 && error < 1e-15) << error;
  ASSERT_EQ(tilewright_lu_inverse(context, TILEWRIGHT_F64, 2, lu.data(), 2, pivots.data(), &info, nullptr),
            TILEWRIGHT_OK);
  EXPECT_NEAR(lu[0], -0.6, 1e-14);
  EXPECT_NEAR(lu[1], 0.8, 1e-14);
}

TEST_F(CApiLu, ZeroPivotsAreTold) {
  std::vector<std::complex<float>> zero(4);
  ASSERT_EQ(
      tilewright_lu_factor(context, TILEWRIGHT_C64, 2, 2, zero.data(), 2, pivots.data(), &info, nullptr),
      TILEWRIGHT_OK);
  EXPECT_EQ(info, 1);
  EXPECT_EQ(tilewright_lu_inverse(context, TILEWRIGHT_C64, 2, zero.data(), 2, pivots.data(), &info, nullptr),
            TILEWRIGHT_OK);
  EXPECT_EQ(info, 1);
}

TEST_F(CApiLu, Options) {
  tilewright_lu_options options = {};
  options.target = TILEWRIGHT_TARGET_CPU, options.candidate = "blocked", options.nb = 1;
  EXPECT_EQ(tilewright_lu_factor(context, TILEWRIGHT_F64, 2, 2, lu.data(), 2, pivots.data(), &info, &options),
            TILEWRIGHT_OK);
}

}  // namespace
