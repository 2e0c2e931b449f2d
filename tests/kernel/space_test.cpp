// Declared spaces: axes that are fixed, ranged and dependent; constraints checked as early
// as their axes allow; the lazy walk, its counts, and the text of explain(). Each kernel's own space is
// tested with the kernel.
#include "kernel/space.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "support/kepler_space.hpp"

namespace tilewright {
namespace {

struct Point {
  int x = 0, y = 0, z = 0;
  bool flag = false;
  friend bool operator==(const Point&, const Point&) = default;
};

}  // namespace

template <>
struct FieldList<Point> {
  static constexpr auto value = std::make_tuple(field("x", &Point::x), field("y", &Point::y),
                                                field("z", &Point::z), field("flag", &Point::flag));
};

namespace {

// y runs from x to 6 in steps of x; z over the divisors of y.
Space<Point> dependent() {
  Space<Point> space;
  space.axis(&Point::x, {1, 2, 3}).axis(&Point::y, [](const Point& p) { return range(p.x, 6, p.x); });
  space.axis(&Point::z, [](const Point& p) {
    std::vector<int> divisors;
    for (int d = 1; d <= p.y; ++d)
      if (p.y % d == 0) divisors.push_back(d);
    return divisors;
  });
  return space;
}

TEST(Space, DependentAxesFollowTheOnesBefore) {
  const auto points = dependent().enumerate();
  std::size_t expected = 0;
  for (int x = 1; x <= 3; ++x)
    for (int y = x; y <= 6; y += x)
      for (int z = 1; z <= y; ++z)
        if (y % z == 0) {
          ASSERT_LT(expected, points.size());
          EXPECT_EQ(points[expected++], (Point{x, y, z}));
        }
  EXPECT_EQ(points.size(), expected);
}

TEST(Space, AConstraintIsCheckedWhenItsAxesAreBound) {
  auto space = dependent();
  int asked = 0;
  space.require(
      "x is odd",
      [&](const Point& p) {
        ++asked;
        return p.x % 2 == 1;
      },
      &Point::x);
  space.require("z < y", [](const Point& p) { return p.z < p.y; });
  for (const Point& p : space.enumerate()) EXPECT_TRUE(p.x % 2 == 1 && p.z < p.y);
  EXPECT_EQ(asked, 3) << "once per value of x, not per point";
  std::vector<Removed> removed;
  space.visit([](const Point&) {}, {}, &removed);
  ASSERT_EQ(removed.size(), 2u);
  EXPECT_EQ(removed[0].after, "x");
  EXPECT_EQ(removed[0].asked, 3u);
  EXPECT_EQ(removed[0].cut, 1u);
  EXPECT_EQ(removed[1].after, "z");
  EXPECT_EQ(removed[1].cut, 8u);  // z = y once for each of y = 1..6 with x = 1, and y = 3, 6 with x = 3
}

TEST(Space, AConstraintOnAnAxisToComeIsRefused) {
  Space<Point> space;
  space.axis(&Point::x, {1});
  const auto any = [](const Point&) { return true; };
  EXPECT_THROW(space.require("early", any, &Point::y), Error);
}

TEST(Space, TheWalkIsLazyAndStops) {
  Space<Point> space;
  const auto million = [](const Point&) { return range(1, 1000000); };
  space.axis(&Point::x, million).axis(&Point::y, million);
  int seen = 0;
  EXPECT_FALSE(space.visit([&](const Point&) { return ++seen < 10; }));
  EXPECT_EQ(seen, 10);
}

TEST(Space, ExplainNamesEveryReason) {
  auto space = dependent();
  space.require("x + z is even", [](const Point& p) { return (p.x + p.z) % 2 == 0; });
  EXPECT_TRUE(space.explain({2, 4, 2}).empty());
  EXPECT_EQ(space.explain({4, 4, 1}).front(), "x = 4 is not one of 1, 2, 3");
  EXPECT_EQ(space.explain({2, 5, 1}), (std::vector<std::string>{"y = 5 is not one of 2, 4, 6"}));
}

TEST(Space, AnAxisIsRestrictedForWalksDrawsAndMembership) {
  auto space = dependent();
  std::size_t even = 0;
  space.visit([&](const Point& p) { even += p.x % 2 == 0 ? 1u : 0u; });
  ASSERT_GT(even, 0u);
  space.restrict_axis("x", [](const Point& p) { return p.x % 2 == 0; });
  EXPECT_EQ(space.enumerate().size(), even);
  std::mt19937_64 random(7);
  for (const Point& p : space.sample(50, random)) EXPECT_EQ(p.x % 2, 0);
  Point odd;
  space.visit([&](const Point& p) { odd = p; });
  odd.x = 1;
  EXPECT_FALSE(space.contains(odd));
  EXPECT_THROW(space.restrict_axis("no_such", [](const Point&) { return true; }), Error);
}

TEST(Space, SamplesAreLegalAndMembersWithoutAxisKeepTheirBase) {
  auto space = dependent();
  space.require("z > 1", [](const Point& p) { return p.z > 1; });
  std::mt19937_64 random(7);
  const auto points = space.sample(50, random, {.flag = true});
  ASSERT_EQ(points.size(), 50u);
  for (const Point& p : points) EXPECT_TRUE(space.contains(p) && p.flag);
}

// Counts as first recorded, of which the whole space of 15 axes has a hundred thousand times as many.
TEST(Space, TheWalkOfFifteenAxesFindsWhatItFoundOnce) {
  const KeplerLimits limits{64, 8};
  std::uint64_t survivors = 0;
  std::vector<Removed> removed;
  kepler::stencil(limits).visit([&](const KeplerConfig&) { ++survivors; }, {}, &removed);
  EXPECT_EQ(survivors, 256u);
  EXPECT_EQ(kepler::raw_points(limits), 1768095744.0);
  const std::pair<const char*, std::uint64_t> cuts[] = {{"threads of a block within the limit", 8},
                                                        {"registers of a block within the limit", 0},
                                                        {"registers of a thread within the limit", 0},
                                                        {"shared memory of a block within the limit", 0},
                                                        {"whole warps", 0},
                                                        {"four multiply-adds per byte of shared memory", 46},
                                                        {"occupancy by registers", 0},
                                                        {"occupancy by shared memory", 0},
                                                        {"the readers of A divide its columns", 5520},
                                                        {"the readers of A divide the depth", 1248},
                                                        {"the readers of B divide the depth", 22},
                                                        {"the readers of B divide its columns", 1254},
                                                        {"all threads read A", 1554},
                                                        {"all threads read B", 146}};
  ASSERT_EQ(removed.size(), std::size(cuts));
  for (std::size_t i = 0; i < removed.size(); ++i) {
    EXPECT_EQ(removed[i].reason, cuts[i].first);
    EXPECT_EQ(removed[i].cut, cuts[i].second);
  }
}

}  // namespace
}  // namespace tilewright
