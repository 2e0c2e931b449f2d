// Isolated calls on a made-up clock: gaps, medians, what reading the clock costs, and where operands lie. No
// real clock is read.
#include "measure/isolated.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "measure/buffers.hpp"

namespace tilewright {
namespace {

constexpr double reading_s = 30e-9;  // what the made-up clock takes to be read

// A clock that work and calls move on.
struct GapTime {
  double now_s = 0;
  std::vector<double> gaps;

  GapWorld world() {
    return {.now = [this] { return now_s += reading_s; },
            .work =
                [this](double seconds) {
                  gaps.push_back(seconds);
                  now_s += seconds;
                }};
  }
};

GemmProblem isolated_problem(Residency residency, Scalar beta = Scalar::zero) {
  GemmProblem p;
  p.m = p.n = p.k = 8;
  p.layout = Layout::strided;
  p.beta = beta;
  p.residency = residency;
  p.arrival = Arrival::idle;
  return packed(p);
}

TEST(IsolatedCalls, FollowGapsOfAllOrdersOfMagnitude) {
  GapTime time;
  IsolatedCalls calls(time.world());
  EXPECT_EQ(calls.median_of([] { return 1.0; }, 100e-3), 1);
  ASSERT_EQ(time.gaps.size(), std::size_t(IsolatedCalls::calls_in(100e-3)));
  int short_ones = 0;
  for (const double gap : time.gaps) {
    EXPECT_GE(gap, IsolatedCalls::shortest_gap_s);
    EXPECT_LE(gap, IsolatedCalls::longest_gap_s);
    short_ones += gap < std::sqrt(IsolatedCalls::shortest_gap_s * IsolatedCalls::longest_gap_s) ? 1 : 0;
  }
  EXPECT_NEAR(short_ones / double(time.gaps.size()), 0.5, 0.1);
  GapTime again;
  IsolatedCalls(again.world()).median_of([] { return 1.0; }, 100e-3);
  EXPECT_EQ(again.gaps, time.gaps) << "every run has the same ones";
}

TEST(IsolatedCalls, AreAsManyAsTheTurnHasRoomForAndNeverFewerThanAMedianNeeds) {
  EXPECT_EQ(IsolatedCalls::calls_in(0), IsolatedCalls::least_calls);
  EXPECT_EQ(IsolatedCalls::calls_in(1e-3), IsolatedCalls::least_calls);
  const int many = IsolatedCalls::calls_in(50e-3);
  EXPECT_GT(many, 100);
  EXPECT_LE(many * IsolatedCalls::shortest_gap_s, 50e-3);
}

TEST(IsolatedCalls, TimeIsTheMedianWithoutTheClocksOwn) {
  GapTime time;
  IsolatedCalls calls(time.world());
  Arena arena;
  const GemmProblem p = isolated_problem(Residency::l1);
  const OperandSet set(arena, p, 1);
  int call = 0;
  const double seconds = calls.time(
      set, [&](std::int64_t) { time.now_s += ++call % 3 == 0 ? 1e-3 : 50e-9; }, 0);  // some are interrupted
  EXPECT_NEAR(seconds, 50e-9, 1e-12);
  EXPECT_EQ(call, IsolatedCalls::least_calls);
  EXPECT_GT(calls.time(
                set, [](std::int64_t) {}, 0),
            0)
      << "ratios of times need a positive one";
}

TEST(IsolatedCalls, HotOperandsAreTouchedAndColdOnesAreOthersEachTime) {
  GapTime time;
  IsolatedCalls calls(time.world());
  Arena arena;
  const OperandSet hot(arena, isolated_problem(Residency::l2), 1);
  auto* const c = static_cast<double*>(hot.batch(0).c);
  c[0] = 7;
  calls.time(
      hot, [&](std::int64_t) { EXPECT_EQ(c[0], 0) << "written before the call"; }, 0);

  const OperandSet cold(arena, isolated_problem(Residency::cold), 1000);
  auto* const first = static_cast<double*>(cold.batch(0).c);
  first[0] = 7;
  std::set<std::int64_t> visited;
  calls.time(
      cold, [&](std::int64_t batch) { visited.insert(batch); }, 50e-3);
  EXPECT_GT(visited.size(), 80u);
  EXPECT_LT(*visited.rbegin(), 1000);
  EXPECT_EQ(first[0], 7);
}

// A ring of single small products has millions of batches in a loop; isolated calls need no gigabyte to be
// cold.
TEST(IsolatedCalls, NeedFewerColdBatches) {
  GemmProblem p = isolated_problem(Residency::cold);
  const std::int64_t isolated_batches = batches_for(p, p.residency, 1);
  p.arrival = Arrival::back_to_back;
  EXPECT_GT(batches_for(p, p.residency, 1), 2 * isolated_batches);
  EXPECT_GE(isolated_batches, 100000);
}

}  // namespace
}  // namespace tilewright
