// Batched small GEMM on the GPU without a GPU: shapes, the space and its reasons, the cost model, launches.
#include "kernel/gemm_small/gemm_small.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "support/gpu_limits.hpp"
#include "support/gpu_problem.hpp"

namespace tilewright {
namespace {

TEST(GemmSmall, ShapeKeepsWhatEntersTheCode) {
  GemmProblem p = small_batch(DType::f64, 5, 13, 23);
  p.op_a = Op::trans;
  p.lda = p.ldb = 0;
  p.stride_a = p.stride_b = 0;
  p = packed(p);
  p.stride_b = 0;
  p.ldc = 7;
  p.stride_c = 7 * 13;
  const GemmSmallShape shape = gemm_small_shape(p);
  EXPECT_TRUE(shape.trans_a && !shape.trans_b && !shape.conj_a && shape.reads_c);
  EXPECT_EQ(shape.step_a, GemmSmallStep::packed);
  EXPECT_EQ(shape.step_b, GemmSmallStep::broadcast);
  // A gap that shares sectors with the columns is loaded with them; a larger one is not.
  EXPECT_EQ(shape.step_c, GemmSmallStep::packed);
  EXPECT_EQ(shape.ldc, 7);
  p.ldc = 27;
  p.stride_c = 27 * 13;
  EXPECT_EQ(gemm_small_shape(p).step_c, GemmSmallStep::strided);
  EXPECT_THROW(gemm_small_shape(small_batch(DType::f64, 65, 2, 2)), Error);
  GemmProblem lanes = small_batch(DType::f64, 512, 2, 2);
  lanes.layout = Layout::interleaved;
  lanes.block = lanes.batch_count;
  EXPECT_EQ(gemm_small_shape(lanes).m, 512);
  lanes.m = 513;
  EXPECT_THROW(gemm_small_shape(lanes), Error);
}

TEST(GemmSmall, ShapesOfOtherLayouts) {
  GemmProblem p = small_batch(DType::f64, 5, 4, 3);
  p.layout = Layout::pointer;
  p.lda = 6;
  const GemmSmallShape pointer = gemm_small_shape(p);
  EXPECT_EQ(pointer.step_a, GemmSmallStep::pointer);
  EXPECT_EQ(pointer.lda, 0);
  EXPECT_EQ(pointer.ldb, 3);
  p.layout = Layout::block_interleaved;
  p.block = 8;
  EXPECT_EQ(gemm_small_shape(p).interleave, 8);
  EXPECT_EQ(gemm_small_shape(p).lda, 6);
  p.block = 96;
  EXPECT_EQ(gemm_small_shape(p).step_c, GemmSmallStep::interleaved);
  EXPECT_EQ(gemm_small_shape(p).interleave, 32);
  p.layout = Layout::variable;
  p.block = 0;
  EXPECT_TRUE(gemm_small_shape(p).sizes_vary);
  p = small_batch(DType::f64, 5, 4, 3);
  p.alpha = Scalar::zero;
  EXPECT_EQ(gemm_small_shape(p).k, 0);
  EXPECT_EQ(gemm_small_shape(p, 16, true).k, 3);
}

TEST(GemmSmall, PlacesCoverMatricesOnce) {
  // Rows and columns of the thread tiles, and elements of interleaved problems, are permutations.
  for (const int tiles : {1, 3, 4})
    for (const int pack : {1, 2, 4}) {
      std::set<int> seen;
      for (int tile = 0; tile < tiles; ++tile)
        for (int i = 0; i < 2 * pack; ++i) seen.insert(gemm_small_round(i, pack, tiles, tile));
      EXPECT_EQ(seen.size(), std::size_t(tiles * 2 * pack));
      EXPECT_EQ(*seen.rbegin(), tiles * 2 * pack - 1);
    }
  // With tensor cores, the thread tiles of whole warps cover every element once.
  GemmSmallConfig by_warp;
  by_warp.multiply = GemmSmallMultiply::mma_8x8x4;
  by_warp.thread_m = 2, by_warp.thread_n = 4;
  const GemmSmallShape matrix{.m = 20, .n = 33};
  const int tiles_m = gemm_small_tiles_m(matrix, by_warp), tiles_n = gemm_small_tiles_n(matrix, by_warp);
  EXPECT_EQ(tiles_m * by_warp.thread_m, 32);
  EXPECT_EQ(tiles_n * by_warp.thread_n, 48);
  std::set<std::pair<int, int>> elements;
  for (int tile = 0; tile < tiles_m * tiles_n; ++tile) {
    const GemmSmallPlaceInC place = gemm_small_place_in_c(by_warp, tile, tiles_m);
    for (int i = 0; i < by_warp.thread_m; ++i)
      for (int j = 0; j < by_warp.thread_n; ++j)
        elements.emplace(gemm_small_row(by_warp, i, 1, tiles_m, place.m),
                         gemm_small_column(by_warp, j, 1, tiles_n, place.n));
  }
  EXPECT_EQ(elements.size(), 32u * 48u);
  EXPECT_EQ(*elements.rbegin(), std::pair(31, 47));
  for (const int lanes : {1, 3, 4}) {
    std::set<int> places, units;
    for (int q = 0; q < 12; ++q)
      for (int e = 0; e < 5; ++e) places.insert(gemm_small_position(q, e, lanes, 5));
    EXPECT_EQ(places.size(), 60u);
    EXPECT_EQ(*places.rbegin(), 59);
    for (int unit = 0; unit < 60; ++unit) {
      const GemmSmallUnit u = gemm_small_unit(unit, lanes, 5);
      units.insert(u.q * 5 + u.tile);
    }
    EXPECT_EQ(units.size(), 60u);
  }
}

TEST(GemmSmall, FewProblemsGetManyBlocks) {
  const GemmSmallShape shape = gemm_small_shape(small_batch(DType::f64, 8, 8, 8));
  EXPECT_GT(gemm_small_default(shape, DType::f64, fictional_gpu(90)).matrices_per_block, 4);
  EXPECT_LE(gemm_small_default(shape, DType::f64, fictional_gpu(90), 100).matrices_per_block, 1);
}

TEST(GemmSmall, TheForecastOfFewProblemsIsAShareOfTheBound) {
  const GpuLimits limits = fictional_gpu(90);
  for (const int n : {4, 8, 32}) {
    const GemmSmallShape shape = gemm_small_shape(small_batch(DType::f64, n, n, n));
    const auto forecast = [&](const GemmSmallConfig& c, std::int64_t count) {
      return gemm_small_forecast(shape, c, DType::f64, limits, gemm_small_cost(shape, c, DType::f64), count);
    };
    const auto many = gemm_small_default(shape, DType::f64, limits);
    for (const std::int64_t count : {1, 10, 100, 1000}) {
      const auto few = gemm_small_default(shape, DType::f64, limits, count);
      EXPECT_GT(forecast(few, count), 0);
      EXPECT_LT(forecast(few, count), 1) << n << " " << count;
      if (count <= 100 && n < 32)
        EXPECT_GT(forecast(few, count), 1.2 * forecast(many, count)) << n << " " << count;
    }
  }
}

TEST(GemmSmall, DefaultAndPromisingConfigsAreLegal) {
  const auto expect_legal = [](const GemmProblem& p, const GpuLimits& limits, std::size_t count) {
    const GemmSmallShape shape = gemm_small_shape(p);
    const auto space = gemm_small_space(shape, p.dtype, limits);
    const GemmSmallConfig config = gemm_small_default(shape, p.dtype, limits);
    for (const auto& reason : space.explain(config))
      ADD_FAILURE() << to_string(p) << " " << describe(config) << ": " << reason;
    for (const auto& one : gemm_small_promising(shape, p.dtype, limits, count))
      EXPECT_TRUE(space.contains(one));
  };
  for (const int capability : {75, 80, 90})
    for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
      for (const int n : {1, 3, 8, 13, 16, 31, 64}) {
        GemmProblem p = small_batch(dtype, n, n, n);
        expect_legal(p, fictional_gpu(capability), 40);
        if (n > 16) continue;
        p.stride_a = p.stride_b = p.stride_c = 0;
        for (const Layout layout : {Layout::pointer, Layout::variable}) {
          p.layout = layout;
          expect_legal(p, fictional_gpu(capability), 16);
        }
      }
}

// A bulk copy costs the same for every matrix, so copies by all threads must also be tried for small ones.
TEST(GemmSmall, PointerBatchesAreOfferedEveryWayIn) {
  for (const int n : {4, 7, 16}) {
    GemmProblem p = small_batch(DType::f32, n, n, n);
    p.layout = Layout::pointer;
    p.stride_a = p.stride_b = p.stride_c = 0;
    std::map<GemmSmallLoad, int> ways;
    for (const auto& c : gemm_small_promising(gemm_small_shape(p), DType::f32, fictional_gpu(90), 16))
      ++ways[c.load];
    EXPECT_GE(ways[GemmSmallLoad::async], 4) << n;
    if (n > 4) EXPECT_GE(ways[GemmSmallLoad::bulk], 4) << n;
  }
}

// Strides that the kernel stores in an int must fit in one: blocks with gaps as large as these are addressed
// by strides instead.
TEST(GemmSmall, BlocksWithLargeGapsAreNotTiles) {
  GemmProblem p = small_batch(DType::f32, 4, 2, 2);
  p.layout = Layout::block_interleaved;
  p.block = 32;
  p.stride_a = p.stride_b = p.stride_c = 0;
  EXPECT_EQ(gemm_small_shape(p).step_a, GemmSmallStep::packed);
  for (const std::int64_t ld : {std::int64_t(1) << 26, (std::int64_t(1) << 32) + 4}) {
    p.lda = ld;
    const GemmSmallShape shape = gemm_small_shape(p);
    EXPECT_EQ(shape.step_a, GemmSmallStep::interleaved);
    EXPECT_EQ(shape.step_c, GemmSmallStep::interleaved) << "all of one kind";
    EXPECT_EQ(shape.lda, 0);
    EXPECT_EQ(shape.interleave, 32);
  }
}

// Each size of thread tile is a piece of code, and the device can keep only so many.
TEST(GemmSmall, VaryingSizesGetRingsAndLittleCode) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    GemmProblem p = small_batch(dtype, 32, 32, 32);
    p.layout = Layout::variable;
    p.lda = p.ldb = p.ldc = p.stride_a = p.stride_b = p.stride_c = 0;
    const GemmSmallConfig config = gemm_small_default(gemm_small_shape(p), dtype, fictional_gpu(90));
    EXPECT_EQ(config.load, GemmSmallLoad::bulk) << describe(config);
    EXPECT_LE(config.thread_m * config.thread_n, 16) << describe(config);
    EXPECT_NE(gemm_small_default(gemm_small_shape(p), dtype, fictional_gpu(80)).load, GemmSmallLoad::bulk);
  }
}

TEST(GemmSmall, AWayInCanBeAskedFor) {
  GemmProblem p = small_batch(DType::f64, 8, 8, 8);
  p.layout = Layout::block_interleaved;
  p.block = 32;
  p.stride_a = p.stride_b = p.stride_c = 0;
  const GemmSmallShape shape = gemm_small_shape(p);
  const auto of = [&](bool (*wanted)(GemmSmallLoad)) {
    return gemm_small_promising(shape, p.dtype, fictional_gpu(90), 4, 0, wanted);
  };
  const auto direct = of(gemm_small_is_direct);
  const auto staged = of([](GemmSmallLoad load) { return !gemm_small_is_direct(load); });
  ASSERT_FALSE(direct.empty());
  ASSERT_FALSE(staged.empty());
  for (const auto& c : direct) {
    EXPECT_TRUE(gemm_small_is_direct(c.load)) << describe(c);
    EXPECT_EQ(gemm_small_memory(shape, c, 8).total_bytes, 0);
  }
  for (const auto& c : staged) EXPECT_FALSE(gemm_small_is_direct(c.load)) << describe(c);
}

TEST(GemmSmall, ConstraintsSayWhy) {
  const GemmSmallShape shape = gemm_small_shape(small_batch(DType::f64, 8, 8, 8));
  GemmSmallConfig config = gemm_small_default(shape, DType::f64, fictional_gpu(90));
  EXPECT_EQ(config.load, GemmSmallLoad::bulk);
  const auto reasons = gemm_small_space(shape, DType::f64, fictional_gpu(80)).explain(config);
  ASSERT_FALSE(reasons.empty());
  EXPECT_NE(reasons[0].find("9.0"), std::string::npos) << reasons[0];
  config.stages = 6;
  config.matrices_per_block = 256;
  bool found = false;
  for (const auto& reason : gemm_small_space(shape, DType::f64, fictional_gpu(90)).explain(config))
    found = found || reason.find("shared memory") != std::string::npos;
  EXPECT_TRUE(found);
}

// The size of such tiles in bytes exceeds the 32 bits of offsets in shared memory.
TEST(GemmSmall, TilesBeyondAnyMemoryAreRefused) {
  GemmProblem p = small_batch(DType::c128, 64, 64, 64);
  p.layout = Layout::block_interleaved;
  p.block = 64;
  p.batch_count = 1 << 20;
  const GpuLimits limits = fictional_gpu(90);
  const GemmSmallShape shape = gemm_small_shape(p);
  const auto space = gemm_small_space(shape, p.dtype, limits);
  GemmSmallConfig config = gemm_small_default(shape, p.dtype, limits);
  config.load = GemmSmallLoad::async;
  config.stages = 6;
  for (const int count : gemm_small_tile_counts(shape)) {
    config.matrices_per_block = count;
    EXPECT_FALSE(space.contains(config)) << count;
  }
  std::mt19937 random(1);
  for (const GemmSmallConfig& drawn : space.sample(100, random)) {
    EXPECT_TRUE(gemm_small_is_direct(drawn.load)) << describe(drawn);
    const std::int64_t matrix_bytes = 64 * 64 * 16;
    EXPECT_LE(drawn.matrices_per_block * matrix_bytes, std::int64_t(1) << 30) << describe(drawn);
  }
}

// Walks over a problem of its own size as the kernel does: the memory has slack for the farthest element of a
// dimension's thread tiles.
TEST(GemmSmall, ThreadTilesOfVaryingSizesReachNoFurtherThanTheirSlack) {
  const auto reached = [](int size, int full, int step) {
    int at = 0, tile = 0;
    for (; at < size; at += full) {
      tile = full;
      while (tile - step > 0 && size - at <= tile - step) tile -= step;
    }
    return at - full + tile;
  };
  GemmProblem p = small_batch(DType::f64, 1, 1, 7);
  p.layout = Layout::variable;
  std::mt19937 random(3);
  std::size_t several = 0;
  for (const int size : {1, 5, 8, 9, 16, 23, 32, 41, 64}) {
    p.m = p.n = size;
    const GemmSmallShape shape = gemm_small_shape(p, 8);
    for (const GemmSmallConfig& c : gemm_small_space(shape, p.dtype, fictional_gpu(90)).sample(60, random))
      for (int own = 1; own <= size; ++own) {
        const int slack = gemm_small_rounded(own, c.size_step);
        EXPECT_LE(reached(own, c.thread_m * gemm_small_own_m, c.size_step), slack)
            << own << " " << describe(c);
        EXPECT_LE(reached(own, c.thread_n * gemm_small_own_n, c.size_step), slack)
            << own << " " << describe(c);
        several += c.thread_m * gemm_small_own_m < own;
      }
  }
  EXPECT_GT(several, 0u);
}

TEST(GemmSmall, LaunchCoversTheBatch) {
  const GemmSmallShape shape = gemm_small_shape(small_batch(DType::f64, 8, 8, 8));
  GemmSmallConfig config = gemm_small_default(shape, DType::f64, fictional_gpu(90));
  const auto launch = [&](std::int64_t count) {
    return gemm_small_launch(shape, config, DType::f64, count, fictional_gpu(90), 3);
  };
  EXPECT_EQ(launch(1).blocks, 1u);
  EXPECT_EQ(launch(config.matrices_per_block + 1).blocks, 2u);
  EXPECT_EQ(launch(std::int64_t(1) << 40).blocks, 3u * unsigned(fictional_gpu(90).multiprocessors));
  EXPECT_EQ(launch(1).shared_bytes, unsigned(gemm_small_memory(shape, config, 8).total_bytes));
  config.persistent = false;
  EXPECT_EQ(launch(std::int64_t(1) << 40).blocks, 2147483647u);
}

TEST(GemmSmall, CostSeesBankConflicts) {
  // The rows of a transposed A with k = 32 all begin in the same bank; with k = 33 they do not.
  GemmSmallConfig config{.matrices_per_block = 1, .threads = 32, .thread_m = 1, .thread_n = 8};
  const auto shared = [&](int k) {
    GemmProblem p = small_batch(DType::f64, 32, 8, k);
    p.op_a = Op::trans;
    p.lda = p.stride_a = 0;
    return gemm_small_cost(gemm_small_shape(packed(p)), config, DType::f64).shared;
  };
  EXPECT_GT(shared(32), 1.5 * shared(33));
}

}  // namespace
}  // namespace tilewright
