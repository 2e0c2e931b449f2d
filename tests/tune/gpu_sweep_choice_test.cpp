// Which configs the sweep of large GEMM takes: all values of all axes, equal shares, the same for the same
// seed; and which of a screening it measures long, at other sizes and under a profiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "gemm_large_sweep.hpp"
#include "kernel/gemm_large_cases.hpp"
#include "support/temp_folder.hpp"

namespace tilewright::bench {
namespace {

SweepChoice choice(std::size_t count, unsigned seed) {
  GemmProblem p;
  p.dtype = DType::f64;
  p.m = p.n = p.k = 4096;
  p.location = Location::device;
  p = packed(p);
  return choose_sweep(p, gemm_large_shape(p), testing::known_gpu(90), count, seed);
}

TEST(SweepChoice, HasEveryValueAndEveryKindAndRepeats) {
  const SweepChoice chosen = choice(400, 2015);
  EXPECT_EQ(chosen.configs.size(), 400u);
  EXPECT_EQ(missing_values(chosen.values, axis_values(chosen.configs)), "");
  EXPECT_EQ(chosen.values.size(), 37u);
  EXPECT_EQ(chosen.values.at("product").size(), 5u);
  EXPECT_EQ(chosen.values.at("load").size(), 5u);
  EXPECT_GE(chosen.values.at("tile_m").size(), 8u);
  std::set<std::string> distinct;
  std::map<GemmLargeLoad, int> loads;
  for (const auto& config : chosen.configs) {
    distinct.insert(describe(config));
    ++loads[config.load];
  }
  EXPECT_EQ(distinct.size(), chosen.configs.size());
  for (const auto& [load, count] : loads) EXPECT_GE(count, 40);
  EXPECT_EQ(choice(100, 7).configs, choice(100, 7).configs);
  EXPECT_NE(choice(100, 7).configs, choice(100, 8).configs);
}

// Performance 100 i, efficiency a parabola with its top at 70.
std::vector<SweepPoint> screening(int count) {
  std::vector<SweepPoint> points(static_cast<std::size_t>(count));
  for (int i = 1; i <= count; ++i) {
    SweepPoint& p = points[static_cast<std::size_t>(i - 1)];
    p.config = {{"tile", i}};
    p.gflops = 100.0 * i;
    p.efficiency = 50 - 0.01 * (i - 70) * (i - 70);
  }
  return points;
}

bool has(const std::vector<nlohmann::json>& configs, int tile) {
  return std::find(configs.begin(), configs.end(), nlohmann::json{{"tile", tile}}) != configs.end();
}

TEST(SweepChoice, LongTakesTheHullAndTheBestOfBoth) {
  const LongChoice chosen = choose_long(screening(100), 20, 10);
  for (int tile = 91; tile <= 100; ++tile) EXPECT_TRUE(has(chosen.all, tile)) << tile;  // the fastest
  for (int tile = 66; tile <= 74; ++tile) EXPECT_TRUE(has(chosen.all, tile)) << tile;   // the most efficient
  EXPECT_TRUE(has(chosen.all, 1));                                                      // a corner
  EXPECT_EQ(chosen.repeated.size(), 10u);
  for (const auto& config : chosen.repeated) EXPECT_TRUE(has(chosen.all, config.at("tile").get<int>()));
}

TEST(SweepChoice, SamplesAreSpreadOverTheRanks) {
  auto points = screening(300);
  for (auto& point : points) point.efficiency.reset();  // no meter
  const auto sample = choose_sample(points, 100);
  EXPECT_EQ(sample.size(), 100u);
  EXPECT_TRUE(has(sample, 1));
  EXPECT_TRUE(has(sample, 300));
  const auto sizes = choose_sizes(screening(100), 6);
  EXPECT_EQ(sizes.size(), 6u);
  EXPECT_TRUE(has(sizes, 70));
  for (const std::size_t count : {7u, 8u, 9u}) {  // though ranks and corners may coincide
    EXPECT_EQ(choose_sample(screening(8), count).size(), 8u);
    EXPECT_EQ(choose_sizes(screening(8), count).size(), std::min<std::size_t>(count, 8));
  }
}

// Cards of different speed, their sentinels included: the best config is the same on whichever it was
// measured.
TEST(SweepChoice, CardsAreJoinedBeforeTheyAreCompared) {
  const std::string problem = "gemm:f64:nn:m=64,n=64,k=64:location=device";
  TempFolder folder;
  const auto write = [&](const char* card, int first, double scale) {
    const std::string path = folder / (std::string(card) + ".jsonl");
    std::ofstream file(path);
    file << "{\"command\":\"screen\"}\n";
    for (int tile = first; tile < first + 3; ++tile) {
      nlohmann::json row{{"family", "gemm"}, {"phase", "screen"},      {"problem", problem},
                         {"device", "card"}, {"device_uuid", card},    {"impl", "cublas"},
                         {"seconds", scale}, {"energy_j", 500 * scale}};
      if (tile > first) {
        row["impl"] = "tilewright";
        row["config"] = {{"tile_m", tile}};  // as sources wrote it that knew one axis
        row["seconds"] = scale * (10 - tile);
        row["energy_j"] = 500 * scale * (10 - tile);
      }
      file << row.dump() << '\n';
    }
    file << "{\"torn";
    return path;
  };
  const std::vector<std::string> cards{write("A", 0, 1e-3), write("B", 3, 0.3e-3)};
  EXPECT_EQ(choose_long(screened_points(cards, problem), 1, 1).all.front().at("tile_m"), 5);
  const auto points = screened_points(cards, problem);
  EXPECT_EQ(points.size(), 4u);
  for (const auto& point : points) EXPECT_TRUE(point.config.contains("warps_k")) << point.config;
  const std::vector<std::string> swapped{write("A", 3, 1e-3), write("B", 0, 0.3e-3)};
  EXPECT_EQ(choose_long(screened_points(swapped, problem), 1, 1).all.front().at("tile_m"), 5);
  EXPECT_THROW(screened_points(cards, "gemm:f64:nn:m=65,n=65,k=65:location=device"), Error);
}

}  // namespace
}  // namespace tilewright::bench
