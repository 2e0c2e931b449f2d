// Which configs the sweep of large GEMM takes: all values of all axes, equal shares, the same for the same
// seed; and which of a screening it measures long, at other sizes and under a profiler.
#include <gtest/gtest.h>

#include <algorithm>

#include "gemm_large_sweep.hpp"
#include "gemm_large_sweep_choice.hpp"
#include "support/gpu_limits.hpp"

namespace tilewright::bench {
namespace {

SweepChoice choice(std::size_t count, unsigned seed) {
  GemmProblem p;
  p.dtype = DType::f64;
  p.m = p.n = p.k = 4096;
  p.location = Location::device;
  p = packed(p);
  return choose_sweep(p, gemm_large_shape(p), fictional_gpu(90), count, seed);
}

TEST(SweepChoice, HasEveryValueAndEveryKindAndRepeats) {
  const SweepChoice chosen = choice(800, 2015);
  EXPECT_EQ(chosen.configs.size(), 800u);
  EXPECT_EQ(missing_values(chosen.values, axis_values(chosen.configs)), "");
  EXPECT_EQ(chosen.values.size(), 26u);
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
  for (const auto& [load, count] : loads) EXPECT_GE(count, 80);
  EXPECT_EQ(choice(100, 7).configs, choice(100, 7).configs);
  EXPECT_NE(choice(300, 7).configs, choice(300, 8).configs);
}

// Performance 100 i, efficiency a parabola with its top at 70.
std::vector<nlohmann::json> screening(int count) {
  std::vector<nlohmann::json> rows;
  for (int i = 1; i <= count; ++i)
    rows.push_back({{"phase", "screen"},
                    {"impl", "tilewright"},
                    {"config", {{"tile", i}}},
                    {"gflops", 100.0 * i},
                    {"gflops_per_watt", 50 - 0.01 * (i - 70) * (i - 70)}});
  rows.push_back({{"phase", "screen"}, {"impl", "cublas"}, {"gflops", 1e9}, {"gflops_per_watt", 1e9}});
  return rows;
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
  auto rows = screening(300);
  for (auto& row : rows) row["gflops_per_watt"] = nullptr;  // no meter
  const auto sample = choose_sample(rows, 100);
  EXPECT_GE(sample.size(), 95u);
  EXPECT_LE(sample.size(), 102u);
  EXPECT_TRUE(has(sample, 1));
  EXPECT_TRUE(has(sample, 300));
  const auto sizes = choose_sizes(screening(100), 6);
  EXPECT_EQ(sizes.size(), 6u);
  EXPECT_TRUE(has(sizes, 70));
}

}  // namespace
}  // namespace tilewright::bench
