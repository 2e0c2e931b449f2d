// Batches of large GEMM without a GPU: which batches are one launch, its tiles, the space, and how well costs
// and forecasts agree with what an H200 took.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "gemm_large_cases.hpp"
#include "kernel/gemm_large/forecast.hpp"

namespace tilewright::testing {
namespace {

GemmProblem batch_of(DType dtype, std::int64_t n, std::int64_t count, const char* ops = "nn",
                     Layout layout = Layout::strided) {
  GemmProblem p =
      problem(dtype, n, n, n, ops[0] == 't' ? Op::trans : Op::none, ops[1] == 't' ? Op::trans : Op::none);
  p.layout = layout;
  p.batch_count = count;
  if (layout == Layout::strided) p.stride_a = p.stride_b = p.stride_c = n * n;
  return p;
}

GemmLargeShape shape_of(const GemmProblem& p) {
  const int align = p.layout == Layout::pointer ? int(size_bytes(p.dtype)) : 128;
  return gemm_large_shape(p, gemm_large_alignment(p, align));
}

GemmLargeDevice h200() {
  GpuLimits limits = fictional_gpu(90);
  limits.clock_khz = 1980000;
  limits.memory_bytes_per_s = 4.917e12;
  return limits;
}

GemmLargeBatchModel shipped_batch_model(DType dtype) {
  static const Wisdom wisdom({std::string(TILEWRIGHT_TEST_WISDOM "/h200.jsonl")}, "");
  return batch_forecast_model(fitted_coefficients(&wisdom, "NVIDIA H200", "")("gemm_large_batch", dtype));
}

TEST(GemmLargeBatch, BatchesOfSmallAndOfPointedMatricesAreOneLaunch) {
  EXPECT_EQ(gemm_large_batch(batch_of(DType::f64, 128, 3)), GemmLargeBatch::strided);
  EXPECT_EQ(gemm_large_batch(batch_of(DType::f64, 512, 2)), GemmLargeBatch::strided);
  EXPECT_EQ(gemm_large_batch(batch_of(DType::f64, 128, 1)), GemmLargeBatch::none);
  EXPECT_EQ(gemm_large_batch(batch_of(DType::f64, 513, 3)), GemmLargeBatch::none);
  EXPECT_EQ(gemm_large_batch(batch_of(DType::f64, 2000, 3, "nn", Layout::pointer)), GemmLargeBatch::pointers);
  EXPECT_EQ(gemm_large_batch(problem(DType::f64, 128, 128, 128)), GemmLargeBatch::none);
  EXPECT_EQ(gemm_large_batch(batch_of(DType::f64, 128, 3, "nn", Layout::variable)), GemmLargeBatch::listed);
  EXPECT_EQ(gemm_large_batch(batch_of(DType::f64, 128, 3), {.beta = true}), GemmLargeBatch::listed);
}

TEST(GemmLargeBatch, ALaunchHasTheTilesOfAllProblems) {
  const GemmProblem p = batch_of(DType::f64, 130, 100);
  GemmLargeConfig c{.tile_m = 64, .tile_n = 128, .warp_m = 32, .warp_n = 64};
  const GemmLargeLaunch whole = gemm_large_launch(p, shape_of(p), c, fictional_gpu(90), 2);
  EXPECT_EQ(whole.launch.blocks, 600u) << "three by two tiles";
  EXPECT_EQ(whole.workspace_bytes + whole.counter_count, 0);
  c.persistent = true;
  EXPECT_EQ(gemm_large_launch(p, shape_of(p), c, fictional_gpu(90), 2).launch.blocks, 264u);
  EXPECT_EQ(gemm_large_problems_at_once(p, shape_of(p), c), (1 << 30) / 6);
  const GemmProblem single = problem(DType::f64, 130, 130, 130);
  EXPECT_EQ(gemm_large_problems_at_once(single, shape_of(single), c), 1);
}

TEST(GemmLargeBatch, BlocksVisitEveryTileOnce) {
  const GemmLargeConfig c{.tile_m = 64, .tile_n = 64, .raster = 2};
  for (const int blocks : {1, 5, 42}) {
    const GemmLargeGrid grid = gemm_large_grid(c, 130, 190, 40, blocks);
    std::set<std::tuple<int, int, int>> seen;
    int count = 0;
    for (int block = 0; block < blocks; ++block) {
      GemmLargeWork work;
      for (int index = 0; gemm_large_batch_unit(c, grid, 7, block, index, work); ++index, ++count) {
        seen.emplace(work.problem, work.tile_m, work.tile_n);
        EXPECT_EQ(work.k_end - work.k_begin, grid.k_tiles);
        EXPECT_TRUE(work.problem < 7 && work.tile_m < 3 && work.tile_n < 3);
      }
    }
    EXPECT_EQ(count, 63);
    EXPECT_EQ(seen.size(), 63u);
  }
}

TEST(GemmLargeBatch, TensorsOfStridedBatchesHaveADimensionOfMatrices) {
  GemmProblem p = batch_of(DType::c128, 100, 9);
  p.stride_b = 0;
  const GemmLargeConfig c{.tile_m = 40, .tile_n = 40, .tile_k = 16, .warp_m = 40, .warp_n = 8};
  const GpuTensor a = gemm_large_tensor(p, shape_of(p), c, GemmLargeSide::a, nullptr, 0);
  EXPECT_EQ(a.matrices, 9u);
  EXPECT_EQ(a.matrix_bytes, 160000u);
  EXPECT_EQ(a.inner, 200u) << "two elements of the map are a number";
  EXPECT_EQ(gemm_large_tensor(p, shape_of(p), c, GemmLargeSide::b, nullptr, 0).matrix_bytes, 0u);
  const GemmProblem single = problem(DType::c128, 100, 100, 100);
  EXPECT_EQ(gemm_large_tensor(single, shape_of(single), c, GemmLargeSide::a, nullptr, 0).matrices, 0u);
}

TEST(GemmLargeBatch, ProblemsWithValuesOfTheirOwnHaveAKernelOfTheirOwn) {
  const GemmProblem p = batch_of(DType::f64, 128, 3, "nn", Layout::variable);
  const GemmLargeShape s = gemm_large_shape(p, {16, 16, 16});
  EXPECT_EQ(std::min({s.align_a, s.align_b, s.align_c}), 8) << "leading dimensions are not known";
  const GemmLargeConfig c = gemm_large_default(p, s, h200());
  EXPECT_EQ(gemm_large_expression(s, c, p.dtype).find("tilewright::gemm_large_list<double"), 0u);
  const GemmLargeShape varies = gemm_large_shape(batch_of(DType::f64, 128, 3), {16, 16, 16}, MathMode::full,
                                                 {.alpha = false, .beta = true});
  EXPECT_TRUE(varies.reads_c) << "a beta of the device may be any";
  EXPECT_EQ(varies.align_a, 16);
}

TEST(GemmLargeBatch, TheSpaceSaysWhatBatchesLack) {
  const auto refused = [](const GemmProblem& p, const GemmLargeConfig& c, const char* reason) {
    for (const std::string& one : gemm_large_space(p, shape_of(p), fictional_gpu(90)).explain(c))
      if (one.find(reason) != std::string::npos) return true;
    return false;
  };
  const GemmProblem p = batch_of(DType::f64, 128, 64);
  const GemmLargeConfig legal = gemm_large_default(p, shape_of(p), h200());
  EXPECT_TRUE(gemm_large_space(p, shape_of(p), h200()).contains(legal)) << describe(legal);
  GemmLargeConfig c = legal;
  c.split_k = 2;
  EXPECT_TRUE(refused(p, c, "one block computes a tile of a batch"));
  c = legal;
  c.boundary = GemmLargeBoundary::zero_padding;
  EXPECT_TRUE(refused(p, c, "read where they lie"));
  EXPECT_TRUE(refused(batch_of(DType::f64, 128, 64, "nn", Layout::pointer), legal, "arrays of addresses"));
  const GemmProblem odd = batch_of(DType::f64, 129, 64);
  EXPECT_TRUE(refused(odd, legal, "multiples of 16 bytes"));
  c = legal;
  c.warp_m = 8;
  EXPECT_TRUE(refused(p, c, "tensor cores take 16 rows"));
  const GemmProblem listed = batch_of(DType::f64, 128, 64, "nn", Layout::variable);
  c = gemm_large_default(listed, shape_of(listed), h200());
  EXPECT_TRUE(gemm_large_space(listed, shape_of(listed), h200()).contains(c)) << describe(c);
  c.persistent = true;
  EXPECT_TRUE(refused(listed, c, "the block of each tile, which does not walk"));
  c.persistent = false;
  c.boundary = GemmLargeBoundary::none;
  EXPECT_TRUE(refused(listed, c, "without checks sizes are multiples of the tile"));
}

TEST(GemmLargeBatch, EveryBatchHasAConfig) {
  for (const DType dtype : all_types)
    for (const char* ops : {"nn", "nt", "tn", "tt"})
      for (const int capability : {75, 80, 90})
        for (const std::int64_t n : {65, 96, 100, 200, 512})
          for (const Layout layout : {Layout::strided, Layout::pointer, Layout::variable}) {
            const GemmProblem p = batch_of(dtype, n, 300, ops, layout);
            const GemmLargeShape s = shape_of(p);
            const GemmLargeDevice device = fictional_gpu(capability);
            const auto configs = gemm_large_promising(p, s, device, 4);
            ASSERT_FALSE(configs.empty()) << to_string(p) << " on " << capability;
            const auto space = gemm_large_space(p, s, device);
            for (const GemmLargeConfig& c : configs) EXPECT_TRUE(space.contains(c)) << describe(c);
            EXPECT_EQ(gemm_large_default(p, s, device), configs.front());
          }
}

TEST(GemmLargeBatch, CostsGrowWithTheBatch) {
  const GemmProblem p = batch_of(DType::f32, 128, 2000), twice = batch_of(DType::f32, 128, 4000);
  const GemmLargeConfig c = gemm_large_default(p, shape_of(p), h200());
  const double once = gemm_large_cost(p, shape_of(p), c, h200()).cycles();
  EXPECT_NEAR(gemm_large_cost(twice, shape_of(twice), c, h200()).cycles() / once, 2, 0.05);
}

// Microseconds of 0.6 GB of operands on an H200, of cuBLAS and of the default config; beta = 0, nn.
struct Measured {
  DType dtype;
  std::int64_t n;
  double theirs_us, ours_us;
};
constexpr Measured measured[] = {
    {DType::f64, 80, 257, 155},   {DType::f64, 96, 213, 157},   {DType::f64, 128, 171, 167},
    {DType::f64, 160, 251, 200},  {DType::f64, 256, 277, 272},  {DType::f32, 80, 467, 250},
    {DType::f32, 128, 370, 327},  {DType::f32, 256, 665, 580},  {DType::c128, 80, 358, 216},
    {DType::c128, 100, 507, 324}, {DType::c128, 200, 567, 455}, {DType::c128, 256, 541, 525}};

TEST(GemmLargeBatch, ForecastsAgreeWithMeasurements) {
  for (const Measured& one : measured) {
    const std::int64_t bytes = size_bytes(one.dtype), count = 600 * (1 << 20) / (3 * one.n * one.n * bytes);
    const GemmProblem p = batch_of(one.dtype, one.n, count);
    const GemmLargeDevice device = h200();
    const GemmLargeBatchModel model = shipped_batch_model(one.dtype);
    const auto theirs = forecast_cublas_batch(model, p, device);
    const GemmLargeConfig c = gemm_large_default(p, shape_of(p), device);
    const auto ours = forecast_own_batch(model, p, shape_of(p), c, device);
    ASSERT_TRUE(theirs && ours) << to_string(p);
    EXPECT_LT(std::abs(std::log(theirs->seconds * 1e6 / one.theirs_us)), 2.5 * theirs->error) << to_string(p);
    EXPECT_LT(std::abs(std::log(ours->seconds * 1e6 / one.ours_us)), 2.5 * ours->error)
        << to_string(p) << " " << describe(c);
  }
}

TEST(GemmLargeBatch, NothingIsForecastOfBatchesThatWereNotMeasured) {
  const GemmLargeBatchModel model = shipped_batch_model(DType::f64);
  EXPECT_FALSE(forecast_cublas_batch(model, batch_of(DType::f64, 128, 3), h200()));
  EXPECT_FALSE(forecast_cublas_batch(model, batch_of(DType::f64, 700, 500, "nn", Layout::pointer), h200()));
  EXPECT_TRUE(forecast_cublas_batch(model, batch_of(DType::f64, 128, 300), h200()));
  EXPECT_THROW(batch_forecast_model({{"tile", "wide"}}), Error);
}

}  // namespace
}  // namespace tilewright::testing
