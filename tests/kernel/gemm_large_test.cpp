// Large GEMM on the GPU without a GPU: shapes, the space and its reasons, tiles in shared memory and their
// bank conflicts, the assignment of work to blocks, and launches.
#include "kernel/gemm_large/gemm_large.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "kernel/gemm_large_cases.hpp"
#include "ladder.hpp"

namespace tilewright {
namespace {

using Config = GemmLargeConfig;
using testing::all_types;
using testing::problem;

TEST(GemmLarge, ShapeKeepsWhatEntersTheCode) {
  GemmProblem p = problem(DType::c64, 100, 60, 30, Op::conj_trans, Op::trans);
  p.beta = Scalar::general;
  const GemmLargeShape s = gemm_large_shape(p);
  EXPECT_TRUE(s.trans_a && s.trans_b && s.conj_a && !s.conj_b && s.reads_c);
  EXPECT_EQ(s.align_a, 16);  // 30 numbers of 8 bytes
  EXPECT_EQ(gemm_large_shape(problem(DType::f64, 101, 8, 8)).align_a, 8);
  EXPECT_EQ(gemm_large_shape(problem(DType::f32, 8, 8, 8), {4, 16, 16}).align_a, 4);
  EXPECT_FALSE(gemm_large_shape(problem(DType::f64, 8, 8, 8, Op::conj_trans)).conj_a);
  EXPECT_THROW(gemm_large_shape(p, {}, MathMode(77)), Error);
  GemmProblem batch = problem(DType::f64, 8, 8, 8);
  batch.batch_count = 3, batch.stride_a = 65, batch.stride_b = 66;
  const GemmLargeAlignment aligned = gemm_large_alignment(batch, 128);
  EXPECT_EQ(aligned.a, 8);
  EXPECT_EQ(aligned.b, 16);
}

// The order of all configs must keep those that measured runs (warps_k) and the models of registers and
// stores (the others, not measured yet) favour individually.
TEST(GemmLarge, PromisingConfigsHaveWhatRunsAndModelsSay) {
  const GemmLargeDevice limits = testing::known_gpu(90);
  const auto first = [&](const GemmProblem& p, std::size_t count, auto&& holds) {
    const auto configs = gemm_large_promising(p, gemm_large_shape(p), limits, count);
    return std::any_of(configs.begin(), configs.end(), holds);
  };
  const auto large_tile = [](const Config& c) {
    return c.thread_m == 8 && c.thread_n == 8 && !c.prefetch && c.layout == GemmLargeLayout::plain;
  };
  EXPECT_TRUE(first(problem(DType::c64, 4096, 4096, 4096, Op::none, Op::trans), 4, large_tile));
  EXPECT_TRUE(first(problem(DType::c64, 4096, 4096, 4096), 4, [&](const Config& c) {
    return large_tile(c) && c.contiguous == GemmLargeContiguous::rows;
  }));
  EXPECT_TRUE(first(problem(DType::f32, 1000, 1000, 1000, Op::trans), 4,
                    [](const Config& c) { return c.warps_k == 2; }));
  EXPECT_TRUE(first(problem(DType::f32, 4096, 4096, 4096, Op::trans), 4,
                    [](const Config& c) { return c.contiguous == GemmLargeContiguous::rows; }));
  EXPECT_TRUE(first(problem(DType::f64, 8192, 8192, 64), 1,
                    [](const Config& c) { return !c.persistent && c.tile_m * c.tile_n == 128 * 64; }));
  EXPECT_TRUE(first(problem(DType::f64, 8192, 8192, 8192), 1, [](const Config& c) { return c.tail_k > 1; }));
  EXPECT_TRUE(first(problem(DType::c128, 4096, 4096, 4096), 4,
                    [](const Config& c) { return c.tail_k > 1 && c.tile_m == 64 && c.tile_n == 64; }));
  // Configs that were slow are not among the first: streamed tiles of few parts of k, clusters that share k.
  EXPECT_FALSE(first(problem(DType::f64, 257, 257, 257), 12, [](const Config& c) { return c.stream_k > 0; }));
  EXPECT_FALSE(first(problem(DType::f64, 64, 64, 65536), 8, [](const Config& c) { return c.cluster > 1; }));
  // The estimate of registers leaves room for two blocks, but the compiler uses a few more: one block is
  // counted.
  const Config two{
      .tile_m = 64, .tile_n = 128, .warp_m = 32, .warp_n = 32, .product = GemmLargeProduct::mma_16x8x8};
  const GemmLargeShape s = gemm_large_shape(problem(DType::f64, 4096, 4096, 4096));
  EXPECT_EQ(gemm_large_resident(s, two, DType::f64, limits), 2);
  EXPECT_EQ(gemm_large_resident(s, two, DType::f64, limits, 12), 1);
}

TEST(GemmLarge, DefaultPromisingAndLadderAreLegal) {
  for (const int capability : {75, 80, 90})
    for (const DType dtype : all_types)
      for (const auto& [m, n, k] : {std::array{1, 1, 1},
                                    {1000, 1000, 1000},
                                    {4096, 4096, 4096},
                                    {1 << 20, 16, 16},
                                    {64, 64, 65536},
                                    {8192, 8192, 64},
                                    {1009, 7, 1013}})
        for (const Op op : {Op::none, Op::trans}) {
          const GemmLargeDevice limits = testing::known_gpu(capability);
          const GemmProblem p = problem(dtype, m, n, k, op, Op::none, m == 1009 ? 1 : 0);
          const GemmLargeShape s = gemm_large_shape(p);
          const auto space = gemm_large_space(p, s, limits);
          const Config config = gemm_large_default(p, s, limits);
          for (const auto& reason : space.explain(config))
            ADD_FAILURE() << to_string(p) << " " << describe(config) << ": " << reason;
          if (m == 4096) {
            EXPECT_GE(gemm_large_promising(p, s, limits, 24).size(), 12u) << to_string(p);
            EXPECT_GE(gemm_large_ladder(p, s, limits).size(), 6u) << capability << to_string(p);
          }
        }
}

// The gain of a step is derived from its instruction counts, so it must change the fields that it names and
// no others.
TEST(GemmLarge, StepsOfTheLadderChangeWhatTheyName) {
  const std::map<std::string, std::set<std::string>> axes = {
      {"register prefetch", {"load"}},
      {"unroll", {"k_unroll"}},
      {"128-bit shared reads", {"shared_bytes"}},
      {"128-bit global reads", {"load_bytes"}},
      {"double buffering", {"stages"}},
      {"shared prefetch", {"prefetch"}},
      {"residue path", {"boundary"}},
      {"async copies", {"load"}},
      {"four stages", {"stages"}},
      {"thread tile 8x16", {"tile_n", "warp_n", "thread_n"}},
      {"tensor cores 8x8x4", {"product", "thread_m", "thread_n", "warp_m", "warp_n", "prefetch"}},
      {"tensor cores 16x8x4", {"product"}},
      {"tensor cores 16x8x8", {"product"}},
      {"tile_k 16", {"tile_k"}},
      {"swizzle", {"layout"}},
      {"raster", {"raster"}},
      // The copy engine checks no bounds and has no padding.
      {"tensor copies", {"load", "boundary", "layout"}},
      {"three stages of k 32", {"stages", "tile_k"}},
      {"fragments read ahead", {"prefetch", "tail_k", "stream_k", "persistent"}},
      {"slack of a turn", {"slack", "prefetch"}},
      {"multiply-adds in order", {"ptxas_level", "k_unroll"}},
      {"dependent launch", {"dependent_launch"}},
      {"tail_k", {"tail_k"}},
      {"stream-k", {"stream_k", "persistent", "tail_k"}}};
  std::set<std::string> seen;
  for (const int capability : {75, 80, 90})
    for (const DType dtype : all_types) {
      const GemmProblem p = problem(dtype, 4096, 4096, 4096, Op::none, Op::trans);
      const auto steps = gemm_large_ladder(p, gemm_large_shape(p), testing::known_gpu(capability));
      ASSERT_FALSE(steps.empty());
      EXPECT_EQ(steps.front().name, "plain");
      for (std::size_t i = 1; i < steps.size(); ++i) {
        const auto before = to_json(steps[i - 1].config), now = to_json(steps[i].config);
        std::set<std::string> changed;
        for (const auto& item : now.items())
          if (item.value() != before[item.key()]) changed.insert(item.key());
        const std::string name = steps[i].name;
        seen.insert(name);
        EXPECT_FALSE(changed.empty()) << name;
        EXPECT_TRUE(std::includes(axes.at(name).begin(), axes.at(name).end(), changed.begin(), changed.end()))
            << to_string(dtype) << " " << capability << " " << name << ": " << steps[i].config.stages;
      }
    }
  for (const auto& [name, names] : axes) EXPECT_TRUE(seen.contains(name)) << name << " is in no ladder";
}

// The five rows of P2's table differ in what their names say, in either type and at sizes with and without
// edges.
TEST(GemmLarge, RowsOfTheChapterAreAllLegal) {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const int n : {1024, 4096, 4100}) {
      const GemmProblem p = problem(dtype, n, n, n);
      const auto rows = gemm_large_chapter(p, gemm_large_shape(p), testing::known_gpu(90));
      ASSERT_EQ(rows.size(), 5u) << to_string(p);
      for (const auto& [name, c] : rows) {
        const auto has = [&, &text = name](const char* part) { return text.find(part) != std::string::npos; };
        EXPECT_EQ(c.k_unroll, 0) << name;
        EXPECT_EQ(c.shared_bytes == 16, has("128b")) << name;
        EXPECT_EQ(c.prefetch, has("prefsmem")) << name;
        EXPECT_EQ(c.stages, has("db") ? 2 : 1) << name;
        EXPECT_EQ(c.load, has("db") ? GemmLargeLoad::plain : GemmLargeLoad::registers) << name;
        EXPECT_EQ(c.boundary, n == 4100 ? GemmLargeBoundary::predicate : GemmLargeBoundary::none) << name;
      }
    }
}

TEST(GemmLarge, ConstraintsSayWhy) {
  const GemmProblem p = problem(DType::f64, 4096, 4096, 4096);
  const GemmLargeShape s = gemm_large_shape(p);
  const auto reasons = [&](const Config& c, int capability) {
    std::string text;
    for (const auto& reason : gemm_large_space(p, s, testing::known_gpu(capability)).explain(c))
      text += reason + "; ";
    return text;
  };
  EXPECT_EQ(reasons({}, 90), "");
  EXPECT_NE(reasons({}, 80).find("9.0"), std::string::npos);
  EXPECT_NE(reasons({.stages = 6, .blocks_per_sm = 2}, 90).find("fit a multiprocessor"), std::string::npos);
  EXPECT_NE(reasons({.warp_m = 64, .warp_n = 64}, 90).find("registers of a thread"), std::string::npos);
  EXPECT_NE(reasons({.load = GemmLargeLoad::read_only, .stages = 2, .dependent_launch = true}, 90)
                .find("read-only path"),
            std::string::npos);
  EXPECT_NE(reasons({.split_k = 2, .tail_k = 2}, 90).find("tail_k = 2"), std::string::npos);
  EXPECT_NE(reasons({.split_k = 2, .stream_k = 1, .persistent = true}, 90).find("not by both"),
            std::string::npos);
  EXPECT_NE(reasons({.load = GemmLargeLoad::async, .read_a = 1, .boundary = GemmLargeBoundary::residue}, 90)
                .find("read_a = 1 is not one of 0, "),
            std::string::npos);
}

TEST(GemmLarge, SpaceHoldsTheExperimentOfAnzt) {
  // There are 770 configs and more at n = 4096, with both products among them.
  const GemmProblem p = problem(DType::f64, 4096, 4096, 4096);
  const auto space = gemm_large_space(p, gemm_large_shape(p), testing::known_gpu(90));
  std::mt19937 random(1);
  std::set<std::string> seen;
  std::map<GemmLargeProduct, int> products;
  for (const auto& config : space.sample(900, random))
    if (seen.insert(describe(config)).second) ++products[config.product];
  EXPECT_GE(seen.size(), 770u);
  EXPECT_EQ(products.size(), 5u);
}

// Elements of a tile lie at distinct places, and reading threads take each exactly once.
TEST(GemmLarge, TilesAreFilledOnce) {
  std::mt19937 random(2);
  for (const DType dtype : all_types)
    for (const Op op : {Op::none, Op::trans}) {
      const GemmProblem p = problem(dtype, 4096, 4096, 4096, op, op);
      const GemmLargeShape s = gemm_large_shape(p);
      const int bytes = static_cast<int>(size_bytes(dtype));
      for (const auto& c : gemm_large_space(p, s, testing::known_gpu(90)).sample(12, random)) {
        const GemmLargeShape seen = gemm_large_kernel_shape(s, c);
        const GemmLargeTile a = gemm_large_tile_a(seen, c, bytes), b = gemm_large_tile_b(seen, c, bytes);
        for (const GemmLargeTile& tile : {a, b}) {
          std::set<int> places;
          for (int x = 0; x < tile.rows; ++x)
            for (int k = 0; k < tile.depth; ++k) places.insert(tile.offset(x, k));
          EXPECT_EQ(places.size(), std::size_t(tile.rows) * std::size_t(tile.depth)) << describe(c);
          EXPECT_LE(*places.rbegin() + bytes, tile.bytes()) << describe(c);
        }
        if (c.load == GemmLargeLoad::tensor) continue;
        EXPECT_TRUE(gemm_large_reads_all(a, c, c.read_a)) << describe(c);
        EXPECT_TRUE(gemm_large_reads_all(b, c, c.read_b)) << describe(c);
      }
    }
}

// The addresses of the reads must satisfy: base of the variant + constant is the element's place.
TEST(GemmLarge, FragmentsFindTheirElements) {
  for (const auto& [bytes, align] : {std::pair(8, 16), std::pair(16, 16), std::pair(8, 8)})
    for (const bool trans_a : {false, true})
      for (const bool trans_b : {false, true})
        for (const auto product : {GemmLargeProduct::mma_16x8x4, GemmLargeProduct::mma_16x8x16})
          for (const auto layout :
               {GemmLargeLayout::swizzle, GemmLargeLayout::padding, GemmLargeLayout::plain}) {
            if (align < 16 && layout != GemmLargeLayout::padding) continue;
            const Config c{.tile_k = 32, .product = product, .layout = layout};
            const GemmLargeShape s{
                .trans_a = trans_a, .trans_b = trans_b, .align_a = align, .align_b = align};
            for (const auto& operand :
                 {gemm_large_operand_a(s, c, bytes), gemm_large_operand_b(s, c, bytes)}) {
              std::set<int> rows, ks;
              for (int lane = 0; lane < 32; ++lane)
                for (int i = 0; i < 2; ++i)
                  for (int q = 0; q < 4; ++q)
                    for (int step = 0; step < 2; ++step)
                      for (int h = 0; h < (operand.block() == 8 ? 1 : 2); ++h) {
                        const int g = lane / 4, t = lane % 4,
                                  row = 32 + operand.block() * i + operand.row_of(g, h);
                        const bool first_of_pair = (operand.read != GemmLargeRead::row_pair || h == 0) &&
                                                   (operand.read != GemmLargeRead::k_pair || step == 0);
                        rows.insert(operand.row_of(g, h));
                        ks.insert(operand.k_of(t, step));
                        if (!first_of_pair) continue;
                        EXPECT_EQ(
                            operand.base(operand.variant(q, step, h), 32, g, t) + operand.constant(i, q, h),
                            operand.tile.offset(row, 8 * q + operand.k_of(t, step)));
                      }
              EXPECT_EQ(rows.size(), std::size_t(operand.block()));
              EXPECT_EQ(ks.size(), 8u);
            }
          }
}

TEST(GemmLarge, FragmentsAreReadWithoutBankConflicts) {
  for (const DType dtype : {DType::f64, DType::c128})
    for (const Op op_a : {Op::none, Op::trans})
      for (const Op op_b : {Op::none, Op::trans})
        for (const auto product : {GemmLargeProduct::mma_16x8x4, GemmLargeProduct::mma_16x8x8})
          for (const auto layout : {GemmLargeLayout::swizzle, GemmLargeLayout::padding}) {
            const GemmLargeShape s = gemm_large_shape(problem(dtype, 512, 512, 512, op_a, op_b));
            const Config c{.warp_m = 32, .warp_n = 32, .product = product, .layout = layout};
            const double least = (32.0 + 32.0) * 8 * double(size_bytes(dtype)) / 128;
            EXPECT_EQ(gemm_large_wavefronts(s, c, dtype), least) << describe(s) << " " << describe(c);
          }
  // Columns are loaded alternately by alignment, for both operands and for either.
  for (const Op op_a : {Op::none, Op::trans})
    for (const Op op_b : {Op::none, Op::trans})
      for (const auto product : {GemmLargeProduct::mma_16x8x4, GemmLargeProduct::mma_16x8x8})
        for (const auto& [odd_a, odd_b] : {std::pair(1, 1), std::pair(1, 0), std::pair(0, 1)}) {
          GemmProblem p = problem(DType::f64, 512, 512, 512, op_a, op_b);
          p.lda += odd_a, p.ldb += odd_b;
          const Config c{.warp_m = 32, .warp_n = 32, .product = product, .layout = GemmLargeLayout::padding};
          EXPECT_EQ(gemm_large_wavefronts(gemm_large_shape(p), c, DType::f64), (32.0 + 32.0) * 8 * 8 / 128)
              << describe(gemm_large_shape(p));
        }
  const GemmLargeShape s = gemm_large_shape(problem(DType::f64, 512, 512, 512));
  EXPECT_GT(gemm_large_wavefronts(s, {.layout = GemmLargeLayout::plain}, DType::f64),
            1.9 * gemm_large_wavefronts(s, {}, DType::f64));
  // Thread tiles of the fma product: 8 lanes along m read 128 bytes, 4 along n 64.
  const Config fma{.tile_n = 256,
                   .tile_k = 8,
                   .warp_m = 64,
                   .warp_n = 64,
                   .thread_m = 8,
                   .thread_n = 16,
                   .product = GemmLargeProduct::fma,
                   .layout = GemmLargeLayout::padding};
  EXPECT_EQ(gemm_large_wavefronts(gemm_large_shape(problem(DType::f32, 512, 512, 512)), fma, DType::f32),
            2 * 2 + 4 * 2);
}

TEST(GemmLarge, LanesCoverTheWarpTile) {
  for (const auto& [warp_m, warp_n, thread_m, thread_n] : {std::array{64, 64, 8, 16},
                                                           {32, 64, 8, 8},
                                                           {64, 32, 8, 8},
                                                           {16, 16, 4, 2},
                                                           {128, 16, 4, 16},
                                                           {16, 128, 16, 4}}) {
    const Config c{.warp_m = warp_m, .warp_n = warp_n, .thread_m = thread_m, .thread_n = thread_n};
    std::set<std::pair<int, int>> places;
    for (int lane = 0; lane < 32; ++lane)
      places.insert({gemm_large_lane_m(c, lane), gemm_large_lane_n(c, lane)});
    EXPECT_EQ(places.size(), 32u);
    EXPECT_EQ(places.rbegin()->first, warp_m / thread_m - 1);
  }
}

// Every tile of k of every tile belongs to exactly one unit; parts are numbered in the order of k, and their
// slots differ.
void expect_covered(const Config& c, long long m, long long n, long long k, int blocks) {
  const GemmLargeGrid grid = gemm_large_grid(c, m, n, k, blocks);
  std::map<std::pair<int, int>, std::vector<GemmLargeWork>> of_tile;
  std::map<long long, int> slots;
  for (int block = 0; block < blocks; ++block) {
    GemmLargeWork work;
    for (int index = 0; gemm_large_unit(c, grid, block, index, work); ++index) {
      of_tile[{work.tile_m, work.tile_n}].push_back(work);
      if (work.parts > 1) ++slots[gemm_large_slot(c, grid, work, work.part)];
      if (!gemm_large_walks(c)) break;
    }
  }
  const std::string what = fmt::format("{} {} {} on {} blocks, {}", m, n, k, blocks, describe(c));
  EXPECT_EQ(of_tile.size(), std::size_t(grid.tiles())) << what;
  for (const auto& [slot, count] : slots) {
    EXPECT_EQ(count, 1) << what;
    EXPECT_LT(slot, gemm_large_slots(c, grid)) << what;
  }
  for (auto& [tile, units] : of_tile) {
    std::sort(units.begin(), units.end(), [](const auto& x, const auto& y) { return x.part < y.part; });
    int at = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
      EXPECT_EQ(units[i].part, int(i)) << what;
      EXPECT_EQ(units[i].parts, int(units.size())) << what;
      EXPECT_EQ(units[i].k_begin, at) << what;
      at = units[i].k_end;
    }
    EXPECT_EQ(at, grid.k_tiles) << what;
  }
}

TEST(GemmLarge, WorkIsDoneOnce) {
  for (const auto& [m, n, k] :
       {std::array{1000, 1000, 1000}, {129, 4000, 33}, {5, 5, 0}, {3000, 200, 4096}, {128, 128, 128}}) {
    Config c{.tile_m = 64, .tile_n = 128, .tile_k = 16};
    for (const int raster : {1, 4, 16}) {
      c.raster = raster;
      for (const int split : {1, 3}) {
        c.split_k = split;
        c.persistent = false;
        const GemmLargeGrid grid = gemm_large_grid(c, m, n, k, 1);
        expect_covered(c, m, n, k, grid.tiles() * split);
        c.persistent = true;
        for (const int blocks : {1, 7, 132}) expect_covered(c, m, n, k, blocks);
      }
      c.split_k = 1;
      for (const int stream : {1, 2, 3})
        for (const int blocks : {1, 7, 132}) {
          Config shared = c;
          shared.stream_k = stream;
          expect_covered(shared, m, n, k, blocks);
        }
      for (const int parts : {2, 5, 32})
        for (const int slots : {1, 7, 132}) {
          Config tail = c;
          tail.persistent = false;
          tail.tail_k = parts;
          const GemmLargeGrid grid = gemm_large_grid(c, m, n, k, 1);
          const auto blocks = static_cast<int>(gemm_large_tail_blocks(tail, grid.tiles(), slots));
          EXPECT_EQ(gemm_large_tail(tail, gemm_large_grid(tail, m, n, k, blocks)), grid.tiles() % slots);
          expect_covered(tail, m, n, k, blocks);
        }
    }
  }
}

TEST(GemmLarge, BlocksOfAMultiprocessorBeginApart) {
  constexpr GemmLargeConfig three{.blocks_per_sm = 3, .stagger = 4};
  EXPECT_EQ(gemm_large_late_clocks(three, 131, 132), 0);
  EXPECT_EQ(gemm_large_late_clocks(three, 132, 132), 4096);
  EXPECT_EQ(gemm_large_late_clocks(three, 395, 132), 8192);
  EXPECT_EQ(gemm_large_late_clocks(three, 396, 132), 0) << "a block that begins where another ended";
}

TEST(GemmLarge, PanelsOfMoreTilesThanAnIntCounts) {
  const Config c{.tile_m = 16, .raster = 16};
  const GemmLargeGrid grid = gemm_large_grid(c, 2'200'000'000, 1, 16, 1);
  GemmLargeWork last;
  gemm_large_place(c, grid, grid.tiles() - 1, last);
  EXPECT_EQ(last.tile_m, grid.tiles_m - 1);
  EXPECT_EQ(last.tile_n, 0);
}

TEST(GemmLarge, LaunchKnowsItsNeeds) {
  const GemmProblem p = problem(DType::f64, 1000, 1000, 1000);
  const GemmLargeShape s = gemm_large_shape(p);
  const auto plain = gemm_large_launch(p, s, {}, testing::known_gpu(90), 1);
  EXPECT_EQ(plain.launch.blocks, 64u);
  EXPECT_EQ(plain.launch.threads, 256u);
  EXPECT_EQ(plain.workspace_bytes, 0);
  const auto split = gemm_large_launch(p, s, {.split_k = 4}, testing::known_gpu(90), 1);
  EXPECT_EQ(split.launch.blocks, 256u);
  EXPECT_EQ(split.workspace_bytes, 256ll * 128 * 128 * 8);
  EXPECT_EQ(split.counter_count, 64);
  const auto stream = gemm_large_launch(p, s, {.stream_k = 1, .persistent = true}, testing::known_gpu(90), 1);
  EXPECT_EQ(stream.launch.blocks, 132u);
  EXPECT_EQ(stream.workspace_bytes, 2ll * 132 * 128 * 128 * 8);
  const auto tail =
      gemm_large_launch(problem(DType::f64, 8192, 8192, 8192), s, {.tail_k = 8}, testing::known_gpu(90), 1);
  EXPECT_EQ(tail.launch.blocks, 31u * 132u + 4u * 8u) << "31 whole waves and four tiles of 4096";
  EXPECT_EQ(tail.workspace_bytes, 4ll * 8 * 128 * 128 * 8);
  EXPECT_EQ(tail.counter_count, 4096);
  EXPECT_EQ(gemm_large_launch(p, s, {.specialised = true}, testing::known_gpu(90), 1).launch.threads, 288u);
  const auto pairs = gemm_large_launch(problem(DType::f64, 1000, 1100, 1000), s, {.split_k = 4, .cluster = 2},
                                       testing::known_gpu(90), 1);
  EXPECT_EQ(pairs.launch.blocks, 8u * 10u * 4u) << "nine columns of tiles are five pairs";
  EXPECT_EQ(pairs.launch.cluster, 2u);
  EXPECT_EQ(pairs.workspace_bytes, 320ll * 128 * 128 * 8);
  EXPECT_EQ(pairs.counter_count, 80);
}

// If there are fewer blocks than places, an early launch requests so much shared memory that idle
// multiprocessors take no more blocks than others.
TEST(GemmLarge, EarlyLaunchesSpreadEvenly) {
  const GemmLargeDevice limits = testing::known_gpu(90);
  const Config early{.tile_m = 64, .tile_n = 64, .warp_m = 32, .warp_n = 32, .dependent_launch = true};
  const auto fits = [&](const GpuLaunch& launch) {
    return limits.shared_bytes_per_multiprocessor /
           (static_cast<int>(launch.shared_bytes) + limits.shared_bytes_reserved);
  };
  const auto launch = [&](std::int64_t m, std::int64_t n, std::int64_t k, int resident, Config c) {
    const GemmProblem p = problem(DType::f64, m, n, k);
    return gemm_large_launch(p, gemm_large_shape(p), c, limits, resident).launch;
  };
  Config late = early;
  late.dependent_launch = false;
  const GpuLaunch plain = launch(704, 704, 4096, 3, late);
  EXPECT_FALSE(plain.dependent);
  EXPECT_EQ(fits(plain), 3);
  const GpuLaunch one = launch(704, 704, 4096, 3, early);  // 121 blocks
  EXPECT_TRUE(one.dependent);
  EXPECT_EQ(fits(one), 1);
  EXPECT_LE(int(one.shared_bytes), limits.shared_bytes_per_block);
  EXPECT_EQ(fits(launch(1024, 1024, 4096, 3, early)), 2);  // 256
  EXPECT_EQ(launch(2048, 1024, 4096, 3, early).shared_bytes, plain.shared_bytes) << "512 fill every place";
  EXPECT_EQ(launch(704, 704, 64, 3, early).shared_bytes, plain.shared_bytes) << "it takes no time";
  EXPECT_EQ(launch(704, 704, 4096, 1, early).shared_bytes, plain.shared_bytes) << "one fits anyway";
}

TEST(GemmLarge, CostSeesWavesAndConflicts) {
  const GemmLargeDevice limits = testing::known_gpu(90);
  const auto cycles = [&](const GemmProblem& p, const Config& c) {
    return gemm_large_cost(p, gemm_large_shape(p), c, limits).cycles();
  };
  const GemmProblem small =
      problem(DType::f64, 1024, 1024, 1024);  // 64 tiles of 128 x 128 on 132 multiprocessors
  const Config half{.tile_n = 64, .warp_n = 32};
  EXPECT_LT(cycles(small, half), 0.8 * cycles(small, {}));
  const GemmProblem odd = problem(DType::f64, 3000, 3000, 3000);
  EXPECT_LT(cycles(odd, {.stream_k = 2, .persistent = true}), 0.95 * cycles(odd, {}));
  EXPECT_LT(cycles(odd, {.tail_k = 8}), 0.97 * cycles(odd, {}));
  const GemmLargeShape s = gemm_large_shape(small);
  EXPECT_GT(
      gemm_large_cost(small, s, {.load = GemmLargeLoad::async, .layout = GemmLargeLayout::plain}, limits)
          .shared,
      1.9 * gemm_large_cost(small, s, {}, limits).shared);
}

}  // namespace
}  // namespace tilewright
