// LU of columns distributed over a team, through the C interface.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tilewright/tilewright_multinode.h"

namespace {

class CApiCyclic : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(tilewright_create(nullptr, nullptr, &context), TILEWRIGHT_OK); }
  void TearDown() override { tilewright_destroy(context); }

  tilewright_context* context = nullptr;
  const std::vector<double> a{1, 4, 2, 3};  // [1 2; 4 3]
  std::vector<double> lu = a;
  std::vector<int64_t> pivots{0, 0};
  int64_t info = -1;
};

// One member has the whole matrix: it is factored on a GPU, or there is a reason and nothing is written.
TEST_F(CApiCyclic, ATeamFactorsOnGpusOrSaysWhyNot) {
  tilewright_lu_team team = {1, 0, nullptr, nullptr};
  const auto factor = [&](int64_t nb, const tilewright_lu_team* who) {
    return tilewright_lu_factor_cyclic(context, TILEWRIGHT_F64, 2, 2, nb, lu.data(), 2, pivots.data(), &info,
                                       who, nullptr);
  };
  const tilewright_status can =
      tilewright_lu_can_factor_cyclic(context, TILEWRIGHT_F64, 2, 2, 16, &team, nullptr);
  if (can == TILEWRIGHT_OK) {
    ASSERT_EQ(factor(16, &team), TILEWRIGHT_OK) << tilewright_last_error(context);
    EXPECT_EQ(pivots, (std::vector<int64_t>{2, 2}));
    EXPECT_EQ(info, 0);
    lu = a, pivots = {0, 0}, info = -1;
  } else {
    EXPECT_EQ(can, TILEWRIGHT_UNSUPPORTED);
    EXPECT_NE(std::string(tilewright_last_error(context)), "");
    EXPECT_EQ(factor(16, &team), TILEWRIGHT_UNSUPPORTED);
  }
  EXPECT_EQ(factor(16, nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(factor(0, &team), TILEWRIGHT_INVALID_ARGUMENT);
  team.own = 1;
  EXPECT_EQ(factor(16, &team), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(tilewright_last_error(context)).find("team.own = 1"), std::string::npos);
  team = {2, 0, nullptr, nullptr};
  EXPECT_EQ(factor(16, &team), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(lu, a);
  EXPECT_EQ(pivots, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(info, -1);
}

}  // namespace
