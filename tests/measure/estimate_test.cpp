// The robust estimate: medians, ranks of the 95 % interval and geometric means on values worked out by hand.
#include "core/estimate.hpp"

#include <gtest/gtest.h>

#include "tilewright/types.hpp"

namespace tilewright {
namespace {

TEST(Estimate, MedianOfOddAndEvenCounts) {
  EXPECT_DOUBLE_EQ(estimate({3, 1, 2}).centre, 2);
  EXPECT_DOUBLE_EQ(estimate({4, 1, 2, 3}).centre, 2.5);
  EXPECT_DOUBLE_EQ(estimate({7}).centre, 7);
}

TEST(Estimate, OneOutlierMovesNothing) {
  const Estimate calm = estimate({10, 11, 12, 13, 14, 15, 16, 17, 18});
  const Estimate disturbed = estimate({10, 11, 12, 13, 14, 15, 16, 17, 1e9});
  EXPECT_DOUBLE_EQ(calm.centre, disturbed.centre);
  EXPECT_DOUBLE_EQ(calm.low, disturbed.low);
  EXPECT_DOUBLE_EQ(calm.high, disturbed.high);
}

// Published ranks of the distribution-free 95 % interval of the median.
TEST(Estimate, IntervalRanks) {
  EXPECT_EQ(median_interval_rank(1), 1);
  EXPECT_EQ(median_interval_rank(5), 1);  // no rank reaches 95 %: the extremes
  EXPECT_EQ(median_interval_rank(6), 1);
  EXPECT_EQ(median_interval_rank(8), 1);
  EXPECT_EQ(median_interval_rank(9), 2);
  EXPECT_EQ(median_interval_rank(11), 2);
  EXPECT_EQ(median_interval_rank(12), 3);
  EXPECT_EQ(median_interval_rank(15), 4);
  EXPECT_EQ(median_interval_rank(20), 6);
  EXPECT_EQ(median_interval_rank(100), 40);
}

TEST(Estimate, IntervalEnclosesTheCentre) {
  for (int count = 1; count < 40; ++count) {
    std::vector<double> samples;
    for (int i = 0; i < count; ++i) samples.push_back((i * 7919) % 1009);
    const Estimate result = estimate(samples);
    EXPECT_LE(result.low, result.centre);
    EXPECT_LE(result.centre, result.high);
    EXPECT_EQ(result.samples, count);
  }
}

TEST(Estimate, NoSampleIsRefused) { EXPECT_THROW(estimate({}), Error); }

TEST(GeometricMean, OfRatios) {
  EXPECT_DOUBLE_EQ(geometric_mean({2, 0.5}), 1);
  EXPECT_DOUBLE_EQ(geometric_mean({8}), 8);
  EXPECT_DOUBLE_EQ(geometric_mean({}), 0);
  EXPECT_THROW(geometric_mean({1, 0}), Error);
}

}  // namespace
}  // namespace tilewright
