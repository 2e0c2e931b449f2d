// Objectives, abstract points, strategies and replay, on made-up and recorded sweeps: nothing here needs the
// machine that the sweeps came from.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "analyze/replay.hpp"
#include "core/estimate.hpp"
#include "support/temp_folder.hpp"

namespace tilewright {
namespace {

Metrics metrics(double seconds, std::optional<double> joules = std::nullopt) { return {seconds, joules}; }

TEST(TuneObjective, ReadsWhatItWrites) {
  for (const char* text : {"time", "energy", "edp", "alpha=0.7", "alpha=0", "energy_within=5%"})
    EXPECT_EQ(TuneObjective::parse(text).text(), text);
  EXPECT_EQ(TuneObjective::parse("energy_within=0.05").text(), "energy_within=5%");
  for (const char* text :
       {"", "joules", "alpha", "alpha=", "alpha=2", "alpha=x", "time=3", "alpha=-1", "energy_within"}) {
    try {
      TuneObjective::parse(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), "objective");
      EXPECT_NE(std::string(error.what()).find(fmt::format("'{}'", text)), std::string::npos);
    }
  }
}

TEST(TuneObjective, EachGoalPicksItsOwn) {
  // Fast and hungry, balanced, slow and frugal, and one that is worse than all.
  const std::vector<Metrics> all = {metrics(1.0, 10.0), metrics(1.04, 7.0), metrics(2.0, 4.0),
                                    metrics(2.5, 11.0)};
  const auto best = [&](const char* text) { return TuneObjective::parse(text).best(all, all.front()); };
  EXPECT_EQ(best("time"), 0u);
  EXPECT_EQ(best("energy"), 2u);
  EXPECT_EQ(best("edp"), 1u);
  EXPECT_EQ(best("alpha=1"), 0u);
  EXPECT_EQ(best("alpha=0"), 2u);
  EXPECT_EQ(best("alpha=0.5"), 1u);
  EXPECT_EQ(best("energy_within=5%"), 1u);
  EXPECT_EQ(best("energy_within=1%"), 0u);
  EXPECT_EQ(best("energy_within=100%"), 2u);
}

TEST(TuneObjective, NoMeterIsAnErrorAndNotZero) {
  const std::vector<Metrics> all = {metrics(1), metrics(2)};
  for (const char* text : {"energy", "edp", "alpha=0.5", "energy_within=5%"}) {
    const auto objective = TuneObjective::parse(text);
    EXPECT_TRUE(objective.needs_energy());
    EXPECT_THROW(objective.best(all, all.front()), Error) << text;
    EXPECT_THROW(objective.cost(metrics(1, 0.0), all.front()), Error) << "a meter that reads 0 has failed";
  }
  EXPECT_EQ(TuneObjective::parse("alpha=1").best(all, all.front()), 0u);
  EXPECT_THROW(TuneObjective().best({}, all.front()), Error);
}

// A sweep with a smooth valley in x and y, a name axis that matters and one field that never varies.
Replay valley() {
  std::vector<nlohmann::json> configs;
  std::vector<Metrics> costs;
  for (const char* name : {"p", "q", "r"})
    for (int x = 0; x < 30; ++x)
      for (int y = 0; y < 30; ++y) {
        configs.push_back({{"x", x}, {"y", 1 << y % 30}, {"name", name}, {"fixed", 1}});
        const double bowl = 0.01 * ((x - 21) * (x - 21) + (y - 8) * (y - 8)) + 0.1 * std::fabs(x - y - 13);
        costs.push_back(metrics(1e-6 * (1 + bowl + (name == std::string("q") ? 0 : 0.4)), 1.0));
      }
  return Replay(configs, costs, 0);
}

TEST(PointSet, AxesAreWhatVaries) {
  const Replay replay = valley();
  ASSERT_EQ(replay.points().axes().size(), 3u);
  for (const auto& axis : replay.points().axes()) EXPECT_EQ(axis.ordered, axis.name != "name");
  const auto neighbours = replay.points().neighbours(0);
  EXPECT_EQ(neighbours.size(), 29u + 29u + 2u);
  for (const std::size_t other : neighbours) {
    int differing = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      differing += replay.points().at(0)[axis] != replay.points().at(other)[axis];
    EXPECT_EQ(differing, 1);
  }
}

TEST(Strategies, RespectTheLimitAndNeverRepeat) {
  const Replay replay = valley();
  const TuneObjective time;
  for (const Strategy& strategy : strategies()) {
    ReplayEvaluator evaluator(replay, time, 100);
    strategy.run({replay.points(), replay.start(), 1}, evaluator);
    EXPECT_EQ(evaluator.best_after().size(), 100u) << strategy.name;
  }
}

TEST(Strategies, AllOfASpaceIsFoundWhenThereIsRoom) {
  std::vector<nlohmann::json> configs;
  std::vector<Metrics> costs;
  for (int x = 0; x < 40; ++x) {
    configs.push_back({{"x", x}});
    costs.push_back(metrics(1 + std::fabs(x - 17)));
  }
  const Replay replay(configs, costs, 0);
  for (const Strategy& strategy : strategies()) {
    ReplayEvaluator evaluator(replay, TuneObjective(), 1000);
    strategy.run({replay.points(), 0, 3}, evaluator);
    ASSERT_EQ(evaluator.best_after().size(), 40u) << strategy.name;
    EXPECT_EQ(evaluator.best_after().back(), 17u) << strategy.name;
  }
}

TEST(Strategies, TheModelFindsASmoothValleySoon) {
  const Replay replay = valley();
  const std::size_t best = TuneObjective().best(replay.metrics(), replay.metrics()[0]);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    ReplayEvaluator evaluator(replay, TuneObjective(), replay.points().size() / 20);
    search_model({replay.points(), replay.start(), seed}, evaluator);
    EXPECT_LE(replay.metrics()[evaluator.best_after().back()].seconds, 1.05 * replay.metrics()[best].seconds);
  }
}

TEST(Strategies, AnUnknownNameIsRefusedWithTheKnownOnes) {
  try {
    strategy_named("annealing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("model"), std::string::npos);
  }
}

class ReplayFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text) { return folder_.write("sweep.jsonl", text); }

  TempFolder folder_;
};

TEST_F(ReplayFile, SamplesOfAConfigAreOnePointWithTheirMedian) {
  const Replay replay = Replay::read(
      write("{\"command\":\"x\"}\n{\"base\":{\"a\":1,\"b\":2},\"default_config\":{\"a\":3}}\n"
            "{\"config\":{\"a\":1},\"seconds\":5}\n{\"config\":{\"a\":3},\"seconds\":1,\"joules\":7}\n"
            "{\"config\":{\"a\":3},\"seconds\":9}\n{\"config\":{\"a\":3},\"seconds\":2}\n"));
  ASSERT_EQ(replay.points().size(), 2u);
  EXPECT_EQ(replay.start(), 1u);
  EXPECT_EQ(replay.metrics()[1].seconds, 2);
  EXPECT_EQ(replay.metrics()[1].joules, 7);
  EXPECT_FALSE(replay.metrics()[0].joules.has_value());
  EXPECT_EQ(replay.configs()[0], (nlohmann::json{{"a", 1}, {"b", 2}}));
}

TEST_F(ReplayFile, WhatIsNoSweepIsRefusedByLine) {
  EXPECT_THROW(Replay::read("/no/such/file"), Error);
  EXPECT_THROW(Replay::read(write("{\"command\":\"x\"}\n")), Error);
  EXPECT_THROW(Replay::read(write("{\"problem\":\"p\",\"config\":{},\"seconds\":1}\n"
                                  "{\"problem\":\"q\",\"config\":{},\"seconds\":1}\n")),
               Error);
  try {
    Replay::read(write("{\"config\":{},\"seconds\":1}\nnonsense\n"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos);
  }
}

// The bar that the recorded sweeps are held to.
TEST(RecordedSweeps, TheModelIsWithinTwoPercentAfterATwentiethOfThePoints) {
  std::vector<double> ratios;
  for (const char* file : {"results/zen5-2core/sweep-20261121-f32-nn-12-cold.jsonl.gz",
                           "results/zen5-2core/sweep-20261121-f32-nn-24-l2.jsonl.gz",
                           "results/zen5-2core/sweep-20261121-f32-nt-10x10x35-l1.jsonl.gz",
                           "results/zen5-2core/sweep-20261121-f64-nn-12-l1.jsonl.gz",
                           "results/zen5-2core/sweep-20261121-f64-nn-24-l2.jsonl.gz",
                           "results/zen5-2core/sweep-20261121-f64-nn-8-cold.jsonl.gz",
                           "results/zen5-2core/sweep-20261121-f64-tn-13-l2.jsonl.gz"}) {
    const Replay replay = Replay::read(std::string(TILEWRIGHT_SOURCE_DIR "/") + file);
    const std::size_t best = TuneObjective().best(replay.metrics(), replay.metrics()[0]);
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      ReplayEvaluator evaluator(replay, TuneObjective(), replay.points().size() / 20);
      search_model({replay.points(), replay.start(), seed}, evaluator);
      ratios.push_back(replay.metrics()[evaluator.best_after().back()].seconds /
                       replay.metrics()[best].seconds);
    }
  }
  EXPECT_LE(geometric_mean(ratios), 1.02);
}

}  // namespace
}  // namespace tilewright
