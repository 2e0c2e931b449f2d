// Rounding errors of large GEMM on the GPU beside those of cuBLAS, of which a recorded run tells into how
// many parts it shares k: one sum for each element of C had so many times the square of its error.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gemm_large_cases.hpp"
#include "kernel/gemm_large.hpp"
#include "support/gpu_limits.hpp"

namespace tilewright {
namespace {

GemmProblem square(DType dtype, std::int64_t n, std::int64_t k) { return testing::problem(dtype, n, n, k); }

// Terms of one long sum that has the same error as those of `c`.
double terms_of(const GemmProblem& p, const GemmLargeConfig& c) {
  const double chain = double(p.k) / c.split_k / c.warps_k,
               terms = double(c.sum_turns) * c.tile_k / c.warps_k;
  return terms == 0 || terms >= chain ? chain : terms + chain / terms;
}

class RecordedErrors : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedErrors, OfDefaultsAreNoLargerThanCublass) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/results/h200/gemm_large-20261125T04-errors-of-one-sum.jsonl");
  ASSERT_TRUE(file) << "the record is not there";
  const GpuLimits limits = fictional_gpu(90, 132);
  int cases = 0, shared = 0;
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    if (row.value("phase", "") != "check") continue;
    const GemmProblem p = packed(parse_problem(row.at("problem").get<std::string>()));
    if (to_string(p.dtype) != GetParam() || p.beta != Scalar::zero) continue;
    const double parts = std::pow(row.at("error_ratio").get<double>(), 2);
    const GemmLargeConfig c = gemm_large_default(p, gemm_large_shape(p), limits);
    EXPECT_LE(std::sqrt(terms_of(p, c) * parts / double(p.k)), 1.1) << to_string(p) << ' ' << describe(c);
    ++cases;
    shared += parts > 1.5;
  }
  EXPECT_EQ(cases, 128);
  EXPECT_GT(shared, 40) << "cases that cuBLAS shares";
}

INSTANTIATE_TEST_SUITE_P(Types, RecordedErrors, ::testing::Values("f64", "f32", "c64", "c128"),
                         [](const auto& info) { return std::string(info.param); });

TEST(GemmLargeRounding, AccurateSpacesHoldOnlyConfigsThatSetSumsAside) {
  const GpuLimits limits = fictional_gpu(90);
  const GemmProblem p = square(DType::f32, 257, 257);
  const GemmLargeShape s = gemm_large_shape(p);
  const auto legal = gemm_large_space(p, s, limits), accurate = gemm_large_accurate_space(p, s, limits);
  GemmLargeConfig c = gemm_large_default(p, s, limits);
  EXPECT_TRUE(accurate.contains(c)) << describe(c);
  c.sum_turns = 0;
  EXPECT_TRUE(legal.contains(c)) << describe(c);
  ASSERT_EQ(accurate.explain(c).size(), 1u) << describe(c);
  EXPECT_NE(accurate.explain(c).front().find("set aside"), std::string::npos);

  GemmLargeConfig parts = c;  // whose sums have so few terms that they may stay
  parts.split_k = 8;
  EXPECT_EQ(gemm_large_sum_turns(p, parts, limits), 0);
  const GemmProblem large = square(DType::f32, 2048, 2048);
  EXPECT_EQ(gemm_large_sum_turns(large, c, limits), 0);
}

// Sums for which registers have no room lie in shared memory, so that tiles need not be small.
TEST(GemmLargeRounding, LargeTilesKeepSumsInSharedMemory) {
  const GpuLimits limits = fictional_gpu(90, 132);
  const GemmProblem p = square(DType::f64, 1024, 8192);
  const GemmLargeConfig c = gemm_large_default(p, gemm_large_shape(p), limits);
  EXPECT_GT(c.sum_turns, 0);
  EXPECT_TRUE(c.sums_in_shared) << describe(c);
  GemmLargeConfig without = c;
  without.sums_in_shared = false;
  EXPECT_FALSE(gemm_large_space(p, gemm_large_shape(p), limits).contains(without));
  without.sum_turns = 0;
  const auto bytes = [&](const GemmLargeConfig& config) {
    return gemm_large_memory(gemm_large_kernel_shape(gemm_large_shape(p), config), config, 8).total_bytes;
  };
  EXPECT_EQ(bytes(c) - bytes(without), c.tile_m * c.tile_n * 8);
}

}  // namespace
}  // namespace tilewright
