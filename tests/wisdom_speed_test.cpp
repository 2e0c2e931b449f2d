// What wisdom costs a program when the user's database holds 100,000 records: the figures of `bench overhead`
// are printed and held to limits wide enough for busy machines and debug builds. It says nothing of what a
// quiet machine reaches; that is recorded with `bench overhead --json`.
#include <gtest/gtest.h>

#include <map>

#include "bench_wisdom.hpp"

namespace tilewright::cli {
namespace {

TEST(WisdomSpeed, OfALargeDatabase) {
  const std::map<std::string, double> limits = {{"context_open", 20e-3},      {"wisdom_open", 20e-3},
                                                {"wisdom_exact", 2e-3},       {"wisdom_near_shape", 2e-3},
                                                {"wisdom_near_inside", 2e-3}, {"wisdom_default", 2e-3},
                                                {"plan_again", 20e-6}};
  for (const WisdomCost& cost : measure_wisdom(100000)) {
    std::printf("%-20s %9.3f us (%.3f to %.3f)\n", cost.what.c_str(), cost.seconds.centre * 1e6,
                cost.seconds.low * 1e6, cost.seconds.high * 1e6);
    EXPECT_LT(cost.seconds.centre, limits.at(cost.what)) << cost.what;
  }
}

}  // namespace
}  // namespace tilewright::cli
