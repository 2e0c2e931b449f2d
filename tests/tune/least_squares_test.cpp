// Least squares of times, and timings made into points: known coefficients are found, none is negative, what
// was disturbed is rejected and counted, and a formula that errs by more than its data scatter says so.
#include "tune/calibrate/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tilewright/types.hpp"
#include "tune/calibrate/point_timer.hpp"

namespace tilewright {
namespace {

using Points = std::vector<LeastSquaresRow>;

// value = a + b x + c x^2 over five powers of ten.
Points parabola(double a, double b, double c, double noise = 0) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  Points rows;
  for (double x = 1; x < 1e5; x *= 1.5) {
    const double value = (a + b * x + c * x * x) * (1 + noise * normal(random));
    rows.push_back({{1, x, x * x}, value, noise});
  }
  return rows;
}

TEST(LeastSquares, FindsWhatTheRowsWereMadeFrom) {
  const auto fit = least_squares(parabola(3e-6, 2e-9, 5e-13));
  ASSERT_EQ(fit.coefficients.size(), 3u);
  EXPECT_NEAR(fit.coefficients[0], 3e-6, 1e-14);
  EXPECT_NEAR(fit.coefficients[1], 2e-9, 1e-17);
  EXPECT_NEAR(fit.coefficients[2], 5e-13, 1e-21);
  EXPECT_LT(fit.residual, 1e-9);
  EXPECT_NEAR(fit.r_squared, 1, 1e-9);
  EXPECT_FALSE(fit.is_worse_than_noise());
  EXPECT_DOUBLE_EQ(fit.of({1, 10, 100}),
                   fit.coefficients[0] + 10 * fit.coefficients[1] + 100 * fit.coefficients[2]);
}

TEST(LeastSquares, StandardErrorsHoldTheTruth) {
  const auto fit = least_squares(parabola(3e-6, 2e-9, 5e-13, 0.02));
  const double truth[] = {3e-6, 2e-9, 5e-13};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT(fit.standard_errors[i], 0);
    EXPECT_LT(std::abs(fit.coefficients[i] - truth[i]), 4 * fit.standard_errors[i]) << i;
  }
  EXPECT_NEAR(fit.residual, 0.02, 0.01);
  EXPECT_NEAR(fit.noise, 0.02, 1e-12);
  EXPECT_FALSE(fit.is_worse_than_noise());
}

TEST(LeastSquares, SmallValuesCountAsMuchAsLargeOnes) {
  auto rows = parabola(3e-6, 2e-9, 5e-13);
  rows.back().value *= 1.02;  // the largest, which in absolute terms would outweigh all others
  const auto fit = least_squares(rows);
  EXPECT_NEAR(fit.coefficients[0], 3e-6, 3e-8);
}

TEST(LeastSquares, LeavesOutWhatWouldBeNegative) {
  const auto rows = parabola(3e-6, -2e-10, 5e-13);
  const auto fit = least_squares(rows);
  for (const double c : fit.coefficients) EXPECT_GE(c, 0);
  EXPECT_EQ(fit.coefficients[1], 0);
  EXPECT_EQ(fit.standard_errors[1], 0);
  EXPECT_NEAR(least_squares(rows, Sign::any).coefficients[1], -2e-10, 1e-15);
  EXPECT_TRUE(fit.is_worse_than_noise());
}

// Dropping the first coefficient that turns out negative may leave a worse set than another: here x must go
// for the constant to stay.
TEST(LeastSquares, FindsTheBestSetWithoutANegativeOne) {
  const auto rows = parabola(1e-6, -3e-9, 4e-12);
  const auto fit = least_squares(rows);
  double others = 1e9;
  for (unsigned set = 1; set < 8; ++set) {
    Points some = rows;
    for (auto& row : some)
      for (std::size_t j = 0; j < 3; ++j)
        if (!(set >> j & 1)) row.terms[j] = 0;
    const auto one = least_squares(some, Sign::any);
    if (std::all_of(one.coefficients.begin(), one.coefficients.end(), [](double c) { return c >= 0; }))
      others = std::min(others, one.residual);
  }
  EXPECT_NEAR(fit.residual, others, 1e-12);
}

TEST(LeastSquares, TermsThatCannotBeToldApartCountOnce) {
  Points rows;
  for (double x = 1; x < 100; x *= 2) rows.push_back({{x, 3 * x}, 6 * x, 0});
  const auto fit = least_squares(rows);
  EXPECT_LT(fit.residual, 1e-12);
  EXPECT_NEAR(fit.coefficients[0] + 3 * fit.coefficients[1], 6, 1e-9);
}

TEST(LeastSquares, RefusesTooFewRowsAndValuesThatAreNoTimes) {
  EXPECT_THROW(least_squares({}), Error);
  EXPECT_THROW(least_squares({{{1, 2}, 1, 0}}), Error);
  EXPECT_THROW(least_squares({{{1}, 0, 0}}), Error);
  EXPECT_THROW(least_squares({{{1}, std::nan(""), 0}}), Error);
}

TEST(LeastSquares, ScatteredRowsCountForLess) {
  auto rows = parabola(3e-6, 2e-9, 5e-13);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].spread = 0.01;
  rows[4].value *= 1.5, rows[4].spread = 0.5;
  const double even = std::abs(least_squares(rows).coefficients[0] / 3e-6 - 1);
  rows[4].spread = 0.01;
  EXPECT_LT(even, std::abs(least_squares(rows).coefficients[0] / 3e-6 - 1));
}

TEST(TimedPoint, IsTheMedianWithoutWhatWasDisturbed) {
  const TimedPoint point = point_of({1.00, 1.01, 0.99, 1.02, 5, 1.00, 9});
  EXPECT_EQ(point.rejected, 2);
  EXPECT_EQ(point.samples, 5);
  EXPECT_DOUBLE_EQ(point.seconds, 1.00);
  EXPECT_EQ(point.fault, "");
  EXPECT_LE(point.low, point.seconds);
  EXPECT_GE(point.high, point.seconds);
}

TEST(TimedPoint, NothingIsRejectedForBeingFast) {
  const TimedPoint point = point_of({1, 1, 1, 1, 0.2, 1, 1});
  EXPECT_EQ(point.rejected, 0);
  EXPECT_EQ(point.samples, 7);
}

TEST(TimedPoint, SaysWhyItIsNone) {
  EXPECT_NE(point_of({1, 2, 3, 4, 1.5, 2.5}).fault.find("disagree"), std::string::npos);
  EXPECT_NE(point_of({1, 1, 1, 1, 9, 9, 9}).fault.find("3 of its 7 timings were disturbed"),
            std::string::npos);
  EXPECT_THROW(point_of({}), Error);
  EXPECT_THROW(point_of({1, 0}), Error);
}

}  // namespace
}  // namespace tilewright
