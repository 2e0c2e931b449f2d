// Joules between moves of a counter: against a load whose power is known, with looks that come late, and
// where the counter is coarse, silent or broken. Sentinels on the same page: what they say of drift.
#include "measure/energy_edges.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "analyze/data.hpp"
#include "measure/clock.hpp"

namespace tilewright {
namespace {

// Looks every `step_s` at a counter that moves `rate` times a second under `watts`.
EnergyEdges seen(double watts, double rate, double step_s, double until_s, double from_s = 0) {
  EnergyEdges edges;
  for (double at = from_s; at < until_s; at += step_s)
    edges.add(at, watts * std::floor(at * rate + 1e-9) / rate);
  return edges;
}

TEST(EnergyEdges, PowerIsExactToTheLateness) {
  for (const double step : {0.0005, 0.003, 0.011}) {
    const EnergyWindow window = energy_between_edges(seen(640, 10, step, 2.0), 0.4, 6);
    ASSERT_EQ(window.fault, "");
    EXPECT_NEAR(window.watts(), 640, 640 * window.error_share + 1e-6) << step;
    EXPECT_LE(window.error_share, 2 * step / window.seconds() + 1e-9);
    EXPECT_LE(window.unsteady, window.error_share + 1e-6);
    EXPECT_GE(window.edges, 15u);
    EXPECT_GE(window.begin_s, 0.4);
  }
}

TEST(EnergyEdges, HeatIsLeftOut) {
  EnergyEdges edges;
  for (double at = 0, joules = 0; at < 3; at += 0.1) {
    edges.add(at, joules += at < 1 ? 90 : 60);
    edges.add(at + 0.05, joules);
  }
  EXPECT_NEAR(energy_between_edges(edges, 1.05, 6).watts(), 600, 1e-6);
  EXPECT_GT(energy_between_edges(edges, 0, 6).unsteady, 0.03);  // the two powers show
}

TEST(EnergyEdges, ACoarseOrSilentCounterIsSaid) {
  EXPECT_EQ(energy_between_edges(seen(500, 1, 0.001, 2.5), 0.1, 6).fault,
            "the energy counter moved 2 times under the load, and 6 are needed");
  EnergyEdges still;
  for (int i = 0; i < 100; ++i) still.add(i * 0.01, 7.0);
  EXPECT_EQ(energy_between_edges(still, 0, 6).fault,
            "the energy counter moved 0 times under the load, and 6 are needed");
  EnergyEdges silent;
  for (int i = 0; i < 100; ++i) silent.add(i * 0.01, std::nullopt);
  EXPECT_EQ(energy_between_edges(silent, 0, 6).fault, "the device reports no energy");
  EnergyEdges backwards;
  for (int i = 0; i < 100; ++i) backwards.add(i * 0.01, 1000.0 - i);
  EXPECT_EQ(energy_between_edges(backwards, 0, 6).fault, "the energy counter went backwards");
}

TEST(EnergyEdges, TheThreadSeesEdgesOfALiveCounter) {
  int told = 0;
  EnergyPoll poll([] { return std::optional(std::floor(wall_seconds() * 50)); }, [&] { ++told; });
  const double begin = wall_seconds();
  while (poll.edges_since(begin) < 8 && wall_seconds() - begin < 5) {
  }
  const EnergyWindow window = energy_between_edges(poll.seen(), begin, 6);
  ASSERT_EQ(window.fault, "");
  EXPECT_NEAR(window.watts(), 50, 50 * std::max(0.05, window.error_share));
  EXPECT_GE(told, 7);
}

TEST(Sentinel, TellsDriftBeyondItsLimits) {
  SentinelWatch watch;
  EXPECT_TRUE(watch.notes().empty());
  for (const double seconds : {1.0, 1.01, 0.99}) watch.add({seconds, 700 * seconds});
  EXPECT_TRUE(watch.notes().empty());
  watch.add({1.015, 715});
  EXPECT_TRUE(watch.notes().empty());
  watch.add({1.05, 700});
  ASSERT_EQ(watch.notes().size(), 1u);
  EXPECT_NE(watch.notes()[0].find("5.0 % longer"), std::string::npos);
  watch.add({1.0, 735});
  ASSERT_EQ(watch.notes().size(), 1u);
  EXPECT_NE(watch.notes()[0].find("5.0 % more energy"), std::string::npos);
  EXPECT_NEAR(*watch.energy_ratio(), 1.05, 1e-12);
  watch.add({1.0, std::nullopt});
  EXPECT_FALSE(watch.energy_ratio());
}

}  // namespace
}  // namespace tilewright
