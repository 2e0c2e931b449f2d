// LU through the public door: views and spans give what LAPACK's arguments give, mdspans by columns are taken
// and others refused, and shapes that do not fit name the argument.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "support/mdspan.hpp"
#include "tilewright/lu.hpp"

namespace tilewright::testing {
namespace {

class LuViews : public ::testing::Test {
 protected:
  static constexpr std::int64_t n = 3, sides = 2;
  std::vector<double> a_{4, 2, 1, 1, 5, 2, 2, 1, 6}, lu_ = a_, b_{7, 8, 9, 1, 0, 2}, x_ = b_;
  std::vector<std::int64_t> pivots_ = std::vector<std::int64_t>(n);
  Context context_{{.use_wisdom = false, .notices = false}};

  double residual() const {
    double worst = 0;
    for (std::int64_t j = 0; j < sides; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        double r = -b_[std::size_t(j * n + i)];
        for (std::int64_t l = 0; l < n; ++l) r += a_[std::size_t(l * n + i)] * x_[std::size_t(j * n + l)];
        worst = std::max(worst, std::abs(r));
      }
    return worst;
  }
  static void refused(const std::string& argument, const std::string& message,
                      const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "accepted, expected: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), argument);
      EXPECT_EQ(error.what(), message);
    }
  }
};

TEST_F(LuViews, FactorSolveRefineAndInvert) {
  EXPECT_EQ(lu_factor(context_, column_major(lu_.data(), n, n), pivots_).info, 0);
  const auto factors = column_major(lu_.data(), n, n);
  lu_solve(context_, Op::none, factors, pivots_, column_major(x_.data(), n, sides));
  EXPECT_LT(residual(), 1e-13);
  x_[1] += 1e-6;
  const LuRefinement refined =
      lu_refine(context_, Op::none, column_major(a_.data(), n, n), factors, pivots_,
                column_major(b_.data(), n, sides), column_major(x_.data(), n, sides));
  EXPECT_LT(refined.backward_error, 1e-15);
  EXPECT_LT(residual(), 1e-13);
  EXPECT_EQ(lu_inverse(context_, factors, pivots_).info, 0);
  double one = 0;
  for (std::size_t l = 0; l < 3; ++l) one += a_[l * 3] * lu_[l];
  EXPECT_NEAR(one, 1, 1e-14);
}

TEST_F(LuViews, MdspansByColumns) {
  const auto a = layout_left<double, 2>(lu_.data(), {3, 3});
  EXPECT_EQ(lu_factor(context_, a, pivots_).info, 0);
  lu_solve(context_, Op::none, a, pivots_, layout_left<double, 2>(x_.data(), {3, 2}));
  EXPECT_LT(residual(), 1e-13);
  refused("a",
          "a has the strides (3, 1): the elements of a column must be adjacent, and columns must not "
          "overlap",
          [&] { (void)lu_factor(context_, row_major(lu_.data(), n, n), pivots_); });
}

TEST_F(LuViews, ShapesThatDoNotFit) {
  const std::vector<double> before = lu_;
  const auto a = column_major(lu_.data(), n, n);
  const std::span<std::int64_t> two(pivots_.data(), 2);
  refused("pivots", "pivots has 2 elements, but there are 3 pivots",
          [&] { (void)lu_factor(context_, a, two); });
  refused("pivots", "pivots has 0 elements, but there are 3 pivots",
          [&] { (void)lu_factor(context_, a, {}); });
  refused("a", "a is 3 x 2, but only square factors solve", [&] {
    lu_solve(context_, Op::none, column_major(lu_.data(), 3, 2), pivots_, column_major(x_.data(), n, sides));
  });
  refused("b", "b has 2 rows, but the matrix that was factored has 3",
          [&] { lu_solve(context_, Op::none, a, pivots_, column_major(x_.data(), 2, 3)); });
  refused("x", "the columns of x and b differ: 1, 2", [&] {
    (void)lu_refine(context_, Op::none, column_major(a_.data(), n, n), a, pivots_,
                    column_major(b_.data(), n, sides), column_major(x_.data(), n, 1));
  });
  EXPECT_EQ(lu_, before);
}

}  // namespace
}  // namespace tilewright::testing
