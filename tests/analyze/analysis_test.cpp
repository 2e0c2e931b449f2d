// The analysis of sweeps against what can be worked out otherwise: hulls by brute force, coefficients in
// closed form, what alpha picks, spreads and quadrants of small sets, cards joined and cards refused, unseen
// configs of a known law.
#include "analyze/analysis.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "analyze/case.hpp"
#include "analyze/recorded_sweeps.hpp"
#include "tune/sweep_log.hpp"

namespace tilewright {
namespace {

using namespace recorded;

// A corner has a line through it with all other points strictly on one side or on it.
std::set<std::size_t> corners_by_force(const std::vector<PlanePoint>& p) {
  std::set<std::size_t> corners;
  for (std::size_t i = 0; i < p.size(); ++i)
    for (int step = 0; step < 3600; ++step) {
      const double angle = step * M_PI / 1800 + 1e-4, x = std::cos(angle), y = std::sin(angle);
      bool is_most = true;
      for (std::size_t j = 0; j < p.size() && is_most; ++j)
        is_most = j == i || p[i].x * x + p[i].y * y > p[j].x * x + p[j].y * y;
      if (is_most) corners.insert(i);
    }
  return corners;
}

TEST(Hull, AgreesWithBruteForce) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 20; ++round) {
    std::vector<PlanePoint> points;
    for (int i = 0; i < 30; ++i) points.push_back({normal(random), normal(random)});
    const auto hull = convex_hull(points);
    const auto force = corners_by_force(points);
    const std::set<std::size_t> corners(hull.begin(), hull.end());
    EXPECT_TRUE(std::includes(corners.begin(), corners.end(), force.begin(), force.end()));
    EXPECT_LE(corners.size(), force.size() + 1);  // a corner whose angle lies between two of the steps
    for (std::size_t i = 0; i < points.size(); ++i) EXPECT_GE(points[hull[0]].y, points[i].y);
    for (std::size_t i = 0; i < hull.size(); ++i) {  // counterclockwise, nothing outside
      const PlanePoint &a = points[hull[i]], &b = points[hull[(i + 1) % hull.size()]];
      for (const PlanePoint& c : points)
        EXPECT_GE((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x), -1e-12);
    }
  }
}

TEST(Hull, OfFewEqualAndCollinearPoints) {
  EXPECT_TRUE(convex_hull({}).empty());
  EXPECT_EQ(convex_hull({{1, 1}}).size(), 1u);
  EXPECT_EQ(convex_hull({{1, 1}, {1, 1}, {2, 2}}).size(), 2u);
  EXPECT_EQ(convex_hull({{0, 0}, {1, 1}, {2, 2}, {3, 3}}).size(), 2u);
  EXPECT_EQ(convex_hull({{0, 0}, {2, 0}, {2, 2}, {0, 2}, {1, 0}, {1, 1}}).size(), 4u);
}

TEST(Hull, ArcLeadsFromTheMostEfficientToTheFastest) {
  const std::vector<PlanePoint> points{{1, 1}, {5, 9}, {8, 7}, {9, 4}, {6, 1}, {6, 6}, {7, 8}};
  const auto arc = trade_off_arc(points, convex_hull(points));
  EXPECT_EQ(arc, (std::vector<std::size_t>{1, 6, 2, 3}));
  double low = 0, high = 0;
  ASSERT_TRUE(cut_at_x(points, convex_hull(points), 6, low, high));
  EXPECT_DOUBLE_EQ(low, 1);
  EXPECT_DOUBLE_EQ(high, 8.5);
  EXPECT_FALSE(cut_at_x(points, convex_hull(points), 10, low, high));
}

TEST(Correlation, ClosedForms) {
  EXPECT_DOUBLE_EQ(pearson({1, 2, 3}, {2, 4, 6}), 1);
  EXPECT_DOUBLE_EQ(pearson({1, 2, 3}, {6, 4, 2}), -1);
  EXPECT_DOUBLE_EQ(pearson({1, 2, 3}, {5, 5, 5}), 0);
  EXPECT_DOUBLE_EQ(pearson({-1, 0, 1}, {1, 0, 1}), 0);
  EXPECT_NEAR(pearson({1, 2, 3, 4}, {1, 3, 2, 4}), 0.8, 1e-12);
  std::vector<double> x, squares;
  for (int i = 1; i <= 100; ++i) x.push_back(i), squares.push_back(double(i) * i);
  // Of i and i^2, i = 1..n: sqrt(15 (n + 1)^2 / ((2 n + 1)(8 n + 11))).
  EXPECT_NEAR(pearson(x, squares), std::sqrt(15.0 * 101 * 101 / (201.0 * 811)), 1e-12);
  EXPECT_DOUBLE_EQ(spearman(x, squares), 1);
  EXPECT_NEAR(spearman({1, 2, 2, 3}, {1, 2, 3, 4}), 4.5 / std::sqrt(4.5 * 5), 1e-12);
}

TEST_F(Sweeps, AWindowsMeanStandsForItsMedianLaunch) {
  auto window = row(1, 2e-3, 0.8);
  window["metrics"]["mean_seconds"] = 2.1e-3;
  const auto list = cases({sentinel(1e-3, 0.5), window});
  EXPECT_DOUBLE_EQ(list.at(0).points.at(0).cost.seconds, 2.1e-3);
}

TEST_F(Sweeps, PointsAreMediansAndExclusionsAreCounted) {
  auto silent = row(3, 1e-3, 0);
  silent["energy_j"] = nullptr;
  silent["energy_note"] = "no meter";
  auto wrong = row(4, 0, 0);
  wrong.erase("seconds");
  wrong["fault"] = "element (0, 0) is wrong";
  auto noted = row(2, 2e-3, 1.0);
  noted["notes"] = {"the card was busy"};
  const auto list = cases({sentinel(1e-3, 0.5), row(1, 1e-3, 0.7), row(1, 3e-3, 0.9), row(1, 2e-3, 0.8),
                           noted, silent, wrong, row(1, 2.2e-3, 0.84, "A", "long")});
  ASSERT_EQ(list.size(), 1u);
  const SweepCase& one = list[0];
  ASSERT_EQ(one.points.size(), 3u);
  EXPECT_DOUBLE_EQ(one.points[0].cost.seconds, 2e-3);
  EXPECT_DOUBLE_EQ(*one.points[0].cost.joules, 0.8);
  EXPECT_EQ(one.points[0].samples, 3u);
  EXPECT_NEAR(one.points[0].gflops, 2.0 * 4096 * 4096 * 4096 / 2e-3 * 1e-9, 1e-6);
  EXPECT_NEAR(*one.points[0].efficiency, 2.0 * 4096 * 4096 * 4096 / 0.8 * 1e-9, 1e-9);
  EXPECT_DOUBLE_EQ(one.points[0].metrics.at("bytes.l2"), 1e6);
  EXPECT_TRUE(one.points[1].noted);
  EXPECT_FALSE(one.points[2].efficiency);
  EXPECT_EQ(one.excluded.at("time only: no meter"), 1u);
  EXPECT_EQ(one.excluded.at("not measured: element (0, 0) is wrong"), 1u);
  EXPECT_EQ(one.notes.at("the card was busy"), 1u);
  ASSERT_EQ(one.repeats.size(), 1u);
  const RepeatSpread spread = spread_of(one.repeats[0]);
  EXPECT_NEAR(*spread.screen_time, 2 / 2.2 - 1, 1e-12);
  EXPECT_NEAR(*spread.screen_energy, 0.8 / 0.84 - 1, 1e-12);
}

TEST_F(Sweeps, CardsAreJoinedThroughTheSentinel) {
  const auto list = cases({sentinel(1e-3, 0.50), sentinel(1e-3, 0.50), row(1, 2e-3, 1.0), row(2, 3e-3, 1.2),
                           row(3, 4e-3, 1.4), sentinel(1.25e-3, 0.55, "B"), row(1, 2.55e-3, 1.1, "B"),
                           row(5, 5e-3, 2.2, "B")});
  const SweepCase& one = list.at(0);
  ASSERT_EQ(one.joins.size(), 2u);
  EXPECT_EQ(one.joins[0].uuid, "A");
  EXPECT_DOUBLE_EQ(one.joins[0].time_factor, 1);
  EXPECT_NEAR(one.joins[1].time_factor, 0.8, 1e-12);
  EXPECT_NEAR(one.joins[1].energy_factor, 1 / 1.1, 1e-12);
  EXPECT_EQ(one.joins[1].anchors, 1u);
  EXPECT_NEAR(one.joins[1].time_residual, 0.02, 1e-12);
  EXPECT_NEAR(one.joins[1].energy_residual, 0, 1e-12);
  EXPECT_NEAR(one.points.back().cost.seconds, 4e-3, 1e-15);
  EXPECT_NEAR(*one.points.back().cost.joules, 2.0, 1e-12);
}

TEST_F(Sweeps, OthersAreNeverMixed) {
  EXPECT_NE(refusal({sentinel(1e-3, 0.5), row(1, 1e-3, 1), row(2, 1e-3, 1, "B")}).find("'B' has no sentinel"),
            std::string::npos);
  EXPECT_NE(refusal({row(1, 1e-3, 1), row(2, 1e-3, 1, "B")}).find("has no sentinel"), std::string::npos);
  auto other = row(2, 1e-3, 1);
  other["source_hash"] = "g";
  EXPECT_NE(refusal({row(1, 1e-3, 1), other}).find("source_hash = 'h' and 'g'"), std::string::npos);
  other = row(2, 1e-3, 1, "B");
  other["device"] = "another card";
  EXPECT_NE(refusal({sentinel(1e-3, 1), sentinel(1e-3, 1, "B"), row(1, 1e-3, 1), other}).find("not joined"),
            std::string::npos);
  EXPECT_THROW(read_sweeps({folder_.path().string() + "/none"}), Error);
}

TEST_F(Sweeps, KernelsOfOtherSourcesStandBesideOnesOnlyWhereThatIsAskedFor) {
  auto later = row(1, 2.2e-3, 1.1);
  later["source_hash"] = "g", later["phase"] = "long";
  const auto rows = read_sweeps({write({sentinel(1e-3, 0.5), row(1, 2e-3, 1), row(2, 3e-3, 1.2), later})});
  EXPECT_THROW(sweep_cases(rows), Error);
  const SweepCase one = sweep_cases(rows, {.across_sources = true}).at(0);
  EXPECT_EQ(one.notes.at("measured with kernels of the sources 'h'"), 2u);
  EXPECT_EQ(one.notes.at("measured with kernels of the sources 'g'"), 1u);
  EXPECT_NEAR(*spread_of(one.repeats.at(0)).screen_time, 2 / 2.2 - 1, 1e-12);
}

TEST_F(Sweeps, ConfigsThatLackLaterAxesAreThoseOfBefore) {
  auto before = row(1, 2e-3, 1.0), now = before;
  for (auto* one : {&before, &now}) {
    (*one)["family"] = "gemm";
    (*one)["config"] = {{"tile_m", 64}};
  }
  now["config"]["warps_k"] = 1;
  const SweepCase one = cases({sentinel(1e-3, 0.5), before, now}).at(0);
  ASSERT_EQ(one.points.size(), 1u);
  EXPECT_EQ(one.points[0].samples, 2u);
}

// A card that was screened is joined by its short windows: long ones warm it up.
TEST_F(Sweeps, SentinelsOfLongWindowsJoinOnlyCardsWithoutOthers) {
  auto warm = sentinel(1.1e-3, 0.55);
  warm["phase"] = "long";
  auto warm_there = sentinel(1.25e-3, 0.55, "B");
  warm_there["phase"] = "long";
  const SweepCase one = cases({sentinel(1e-3, 0.5), warm, warm, row(1, 2e-3, 1), row(2, 2e-3, 1), warm_there,
                               row(3, 5e-3, 2, "B")})
                            .at(0);
  EXPECT_EQ(one.joins.at(0).sentinels, 1u);
  EXPECT_NEAR(one.joins.at(1).time_factor, 0.8, 1e-12);
}

TEST_F(Sweeps, WattsAreThoseOfTheJoinedLoad) {
  const SweepCase one = cases({sentinel(1e-3, 0.5), row(1, 2e-3, 1.0), row(2, 3e-3, 1.2),
                               sentinel(1.25e-3, 0.55, "B"), row(5, 5e-3, 2.2, "B")})
                            .at(0);
  for (const SweepPoint& p : one.points) EXPECT_NEAR(*p.watts, *p.cost.joules / p.cost.seconds, 1e-9);
}

TEST_F(Sweeps, SentinelsOfDifferentVersionsJoinNothing) {
  auto here = sentinel(1e-3, 0.5), there = sentinel(1.25e-3, 0.55, "B");
  here["impl_version"] = "13.1.0", there["impl_version"] = "12.1.0";
  const std::vector<nlohmann::json> two{here, row(1, 2e-3, 1.0), row(2, 2e-3, 1.0), there,
                                        row(3, 5e-3, 2.2, "B")};
  EXPECT_NE(refusal(two).find("is version 13.1.0 on the card 'A' and 12.1.0 on 'B'"), std::string::npos);
  there["device_uuid"] = "A";
  const SweepCase one = cases({here, row(1, 2e-3, 1.0), there}).at(0);
  EXPECT_EQ(one.joins.at(0).sentinel_version, "12.1.0, 13.1.0");
  EXPECT_EQ(one.notes.size(), 2u);
}

TEST_F(Sweeps, WhatIsNoTimeOrProblemIsRefusedWithItsLine) {
  const auto refused = [&](const std::string& path, const nlohmann::json& value, const std::string& words) {
    auto line = row(2, 1e-3, 1);
    line[nlohmann::json::json_pointer(path)] = value;
    EXPECT_NE(refusal({row(1, 1e-3, 1), line}).find(": line 3 " + words), std::string::npos) << words;
  };
  refused("/seconds", 0.0, "has seconds = ");
  refused("/seconds", -1e-3, "has seconds = ");
  refused("/metrics/mean_seconds", 0.0, "has mean_seconds = ");
  refused("/problem", "gemm:f64:nn", "has no problem: ");
  EXPECT_THROW(read_sweeps({folder_.path().string()}), Error) << "a folder";
}

// A plan that the vendor's library served has a config, too, and axes go as well as come.
TEST_F(Sweeps, ConfigsThatAreNoneOfTheFamilyAreLeftOutAndCounted) {
  std::vector<nlohmann::json> lines;
  for (const nlohmann::json& config :
       {nlohmann::json{{"tile_m", 64}}, nlohmann::json{{"extra", 3}}, nlohmann::json{{"tile_m", "big"}}}) {
    lines.push_back(row(1, 1e-3, 1));
    lines.back()["family"] = "gemm";
    lines.back()["config"] = config;
  }
  const auto all = cases(lines);
  EXPECT_EQ(all.at(0).points.size(), 1u);
  EXPECT_EQ(all[0].excluded.size(), 2u);
  EXPECT_EQ(
      std::count_if(all[0].excluded.begin(), all[0].excluded.end(),
                    [](const auto& one) {
                      return one.first.starts_with("not measured: no config of gemm: 'extra' is not a field");
                    }),
      1);
}

TEST_F(Sweeps, LogsOfTheTunerNameTheirCardAndTheLibrary) {
  const auto log = [&](const std::string& uuid, double scale, bool peer) {
    const std::string path = folder_.path().string() + "/tune" + std::to_string(++files_) + ".jsonl";
    nlohmann::json run{{"device", "a CPU"}, {"gpu", "0"}};
    if (!uuid.empty()) run["gpu_uuid"] = uuid;
    SweepLog sweep(path, run, false);
    const nlohmann::json origin{{"device", "card"}, {"device_uuid", uuid}, {"source_hash", "h"}};
    sweep.add_base(problem, {{"tile", 1}, {"stages", 2}},
                   uuid.empty() ? nlohmann::json::object() : origin);  // as logs were once
    for (const int tile : {1, 2}) sweep.add_turn(problem, "screen", {{"tile", tile}}, {scale * tile, {}});
    if (peer) sweep.add_turn(problem, "final", {{"version", "13.1.0"}}, {scale, {}}, "cublas");
    return path;
  };
  const SweepCase one = sweep_cases(read_sweeps({log("A", 1e-3, true), log("B", 2e-3, true)})).at(0);
  EXPECT_EQ(one.device, "card");
  EXPECT_EQ(one.points.size(), 2u);
  EXPECT_EQ(one.sentinel, "cublas");
  ASSERT_EQ(one.joins.size(), 2u);
  EXPECT_EQ(one.joins[1].sentinel_version, "13.1.0");
  EXPECT_NEAR(one.joins[1].time_factor, 0.5, 1e-12);
  EXPECT_NEAR(one.joins[1].time_residual, 0, 1e-12);
  for (const char* uuid : {"B", ""})
    EXPECT_THROW(sweep_cases(read_sweeps({log("A", 1e-3, false), log(uuid, 2e-3, false)})), Error);
  EXPECT_THROW(sweep_cases(read_sweeps({log("", 1e-3, false), log("", 2e-3, false)})), Error);
}

// Time and energy of three configs on an arc and one that nobody wants.
std::vector<SweepPoint> arc_points() {
  std::vector<SweepPoint> points;
  for (const auto& [seconds, joules] : {std::pair(1.0, 2.0), {1.2, 1.2}, {2.0, 1.0}, {2.0, 2.0}}) {
    SweepPoint p;
    p.cost = {seconds, joules};
    p.gflops = 100 / seconds;
    p.efficiency = 100 / joules;
    p.metrics["load"] = joules * 10;
    points.push_back(p);
  }
  return points;
}

TEST(Analysis, AlphaWalksAlongTheArc) {
  const auto picks = alpha_walk(arc_points(), 1000);
  // t and e over 1 and 1: 2 -> 1 where 2 a + (1 - a) = 1.2, so a = 0.2; 1 -> 0 where a + 2 (1 - a) = 1.2:
  // 0.8.
  ASSERT_EQ(picks.size(), 3u);
  EXPECT_EQ(picks[0].point, 2u);
  EXPECT_EQ(picks[1].point, 1u);
  EXPECT_NEAR(picks[1].from, 0.2, 2e-3);
  EXPECT_EQ(picks[2].point, 0u);
  EXPECT_NEAR(picks[2].from, 0.8, 2e-3);
}

TEST(Analysis, QuadrantsAndSpreads) {
  const auto points = arc_points();
  const Quadrants q = quadrants(points);
  EXPECT_EQ(q.fastest, 0u);
  EXPECT_EQ(q.frugal, 2u);
  EXPECT_EQ(q.faster, 2u);
  EXPECT_EQ(q.more_frugal, 2u);
  EXPECT_EQ(q.both, 1u);
  const Spread energy = energy_spread_at_equal_speed(points, 0.01);
  EXPECT_DOUBLE_EQ(energy.ratio, 2);
  EXPECT_EQ(energy.count, 2u);
  EXPECT_EQ(energy.least, 2u);
  EXPECT_EQ(energy.most, 3u);
  EXPECT_DOUBLE_EQ(time_spread_at_equal_energy(points, 0.01).ratio, 2);
}

TEST(Analysis, ClassesAreSplitAtTheMean) {
  const auto found = classify(arc_points(), "load");
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->mean, 15.5);
  EXPECT_EQ(found->above, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(found->below, (std::vector<std::size_t>{1, 2}));
  EXPECT_DOUBLE_EQ(found->below_efficiency, (100 / 1.2 + 100) / 2);
  EXPECT_FALSE(classify(arc_points(), "nothing"));
}

TEST(Analysis, UnseenConfigsOfASmoothLawArePredicted) {
  std::vector<nlohmann::json> configs;
  std::vector<double> costs;
  for (int x = 0; x < 12; ++x)
    for (int y = 0; y < 12; ++y) {
      configs.push_back({{"x", x}, {"y", y}, {"kind", y % 2 == 0 ? "even" : "odd"}});
      costs.push_back((1 + 0.2 * x + 0.01 * (y - 6) * (y - 6)) * (y % 2 == 0 ? 1.0 : 1.5));
    }
  const auto list = predict_unseen(configs, costs, {.shares = {0.1, 0.4}, .rounds = 3});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].trained + list[1].asked, 144u);
  EXPECT_LT(list[1].median_error, 0.05);
  EXPECT_LT(list[1].median_error, list[0].median_error);
  EXPECT_LT(list[1].median_error, list[1].mean_error / 3);
  EXPECT_GT(list[1].rank, 0.95);
}

TEST_F(Sweeps, TheWholeOfACaseIsJsonWithItsSections) {
  std::vector<nlohmann::json> lines{sentinel(1e-3, 0.5)};
  for (int tile = 1; tile <= 60; ++tile)
    lines.push_back(row(tile, 1e-3 + 1e-5 * std::abs(tile - 40), 0.6 + 5e-3 * std::abs(tile - 20)));
  const CaseAnalysis a = analyse(cases(lines).at(0));
  EXPECT_EQ(a.points[a.quadrants->fastest].config.at("tile"), 40);
  EXPECT_EQ(a.points[a.quadrants->frugal].config.at("tile"), 20);
  EXPECT_EQ(a.arc.front(), a.quadrants->frugal);
  EXPECT_EQ(a.arc.back(), a.quadrants->fastest);
  std::set<std::string> sections;
  for (const auto& line : to_json_lines(a)) {
    sections.insert(line.at("section").get<std::string>());
    EXPECT_EQ(line.at("problem"), problem);
  }
  for (const char* section : {"sweep", "hull", "correlation", "class", "energy_at_equal_speed",
                              "time_at_equal_energy", "quadrants", "alpha", "prediction"})
    EXPECT_EQ(sections.count(section), 1u) << section;
  for (const Correlation& c : a.correlations) EXPECT_NE(c.metric, "launches");
}

}  // namespace
}  // namespace tilewright
