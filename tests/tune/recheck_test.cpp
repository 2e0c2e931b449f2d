// What two looks at a record at different times say together.
#include "tune/recheck.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(Recheck, ARegressionIsOneWhereBothTimesSaySo) {
  const Checked regressed{.verdict = "regression: slower than the default"};
  const Checked held, unsure{.verdict = "unknown: the machine drifts too much"};
  EXPECT_TRUE(agreed(regressed, regressed).regressed());
  for (const Checked& second : {held, unsure}) {
    const Checked both = agreed(regressed, second);
    EXPECT_FALSE(both.regressed());
    EXPECT_FALSE(both.holds());
    EXPECT_TRUE(both.verdict.starts_with("unknown: ")) << both.verdict;
  }
  EXPECT_NE(agreed(regressed, held).verdict.find("slower than the default"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
