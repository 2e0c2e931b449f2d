// Runs the stencil of large GEMM on the host: every product, load path, layout and schedule, boundaries of
// one launch, on problems with edges in all directions, with copies that arrive at once and as late as the
// waits allow.
#include "emulation/gemm_large_configs.hpp"

namespace tilewright {
namespace {

using namespace emulation;

TEST(GemmLargeEmulation, TensorCopiesFeedTensorCores) {
  const Case one{70, 90, 54, 2};
  all_operations<double, mma_small>(one);
  all_operations<double, with(mma_small, GemmLargeProduct::mma_16x8x8)>(one);
  all_operations<double, with(mma_small, GemmLargeProduct::mma_16x8x16)>(one);
  all_operations<double, with(mma_small, GemmLargeProduct::mma_8x8x4)>(one);
}

TEST(GemmLargeEmulation, DefaultTileOfTheLargestDevice) {
  expect_large<double, Shape{.reads_c = true}, Config{}>({130, 136, 40, 2});
}

TEST(GemmLargeEmulation, FeedingWarpAndPersistentGrid) {
  constexpr Config fed = fields<Config>(
      "tile_m=32 tile_n=32 tile_k=16 warp_m=16 warp_n=16 stages=2 raster=1 specialised "
      "persistent");
  expect_large<double, Shape{}, fed>({100, 70, 80, 0, 0, 2});
  constexpr Config shared = fields<Config>(
      "tile_m=32 tile_n=32 tile_k=16 warp_m=16 warp_n=16 stages=3 raster=2 split_k=3 "
      "specialised persistent");
  expect_large<double, Shape{.reads_c = true}, shared>({40, 70, 100, 0, 0, 2});
}

// The next tile's first stages are loaded while the sums of a tile are stored, by threads or by the copy
// engine.
TEST(GemmLargeEmulation, BlocksThatWalk) {
  constexpr auto walking = [](Config c, int store_bytes) {
    c.persistent = true;
    c.store_bytes = store_bytes;
    return c;
  };
  const Case one{100, 130, 54, 2, 0, 3};
  all_operations<double, walking(mma_small, 16)>(one);
  all_operations<double, walking(async(mma_small, GemmLargeLayout::swizzle), 8)>(one);
  constexpr Config held = fields<Config>(
      "tile_m=64 tile_n=32 tile_k=16 warp_m=32 warp_n=16 thread_m=4 thread_n=4 product=fma "
      "load=registers stages=1 store_bytes=4 layout=padding boundary=residue persistent");
  all_operations<float, held>({152, 100, 36, 0, 0, 2});
}

// Each block of a cluster fetches a part of A for all of them, even if a column of tiles lies outside C, and
// under every schedule of its clusters.
TEST(GemmLargeEmulation, ClustersShareTilesOfA) {
  constexpr auto clustered = [](int cluster, bool specialised, int split_k, int stream_k) {
    Config c{.tile_m = 32, .tile_n = 32, .tile_k = 32, .warp_m = 32, .warp_n = 16, .stages = 2, .raster = 4};
    c.cluster = cluster;
    c.specialised = specialised;
    c.split_k = split_k;
    c.stream_k = stream_k;
    c.persistent = stream_k > 0 || specialised;
    return c;
  };
  const Case one{70, 90, 60, 2, 0, 4};
  all_operations<double, clustered(2, false, 1, 0)>(one);
  all_operations<double, clustered(4, false, 1, 0)>({40, 100, 60, 2});
  all_operations<double, clustered(2, true, 1, 0)>(one);
  all_operations<double, clustered(2, false, 2, 0)>(one);
  all_operations<double, clustered(2, false, 1, 1)>({70, 90, 300, 2, 0, 6});
  constexpr auto ahead = [](Config c) {
    c.prefetch = true;
    return c;
  };
  all_operations<double, ahead(clustered(2, false, 1, 0))>(one);
  constexpr Config numbers =
      fields<Config>("tile_m=32 tile_n=16 tile_k=16 warp_m=16 warp_n=16 stages=2 raster=4 cluster=4");
  all_operations<std::complex<double>, numbers>({50, 70, 40, 1, 0, 4});
  constexpr Config fma = fields<Config>(
      "tile_m=32 tile_n=64 tile_k=16 warp_m=32 warp_n=16 thread_m=4 thread_n=4 product=fma "
      "stages=3 prefetch layout=plain cluster=2");
  expect_large<float, Shape{.trans_b = true, .reads_c = true}, fma>({52, 100, 40, 0, 0, 4});
}

// The multiplying threads of the second block on each multiprocessor wait; other threads and blocks do not.
TEST(GemmLargeEmulation, BlocksBeginApart) {
  constexpr Config apart = fields<Config>(
      "tile_m=32 tile_n=32 tile_k=16 warp_m=16 warp_n=16 stages=2 specialised "
      "blocks_per_sm=2 stagger=2");
  emulation::large.waited_clocks = 0;
  expect_large<double, Shape{}, apart>({70, 90, 60, 2});                      // 9 blocks
  const long long runs = 2, waiting = runs * emulated_multiprocessors * 128;  // copies at once and late
  EXPECT_EQ(emulation::large.waited_clocks, waiting * 2048);
}

// Groups of warps take a part of each stage's k: every method by which a product finds its operands, and
// tiles that several blocks share.
TEST(GemmLargeEmulation, GroupsOfWarpsShareATile) {
  constexpr auto grouped = [](Config c, int warps_k, int tile_k, int split_k = 1) {
    c.warps_k = warps_k;
    c.tile_k = tile_k;
    c.split_k = split_k;
    return c;
  };
  const Case one{70, 90, 100, 2};
  all_operations<double, grouped(mma_small, 2, 32)>(one);
  all_operations<double, grouped(with(mma_small, GemmLargeProduct::mma_16x8x16), 2, 64, 2)>(one);
  all_operations<double, grouped(async(mma_small, GemmLargeLayout::padding), 2, 32)>(one);
  constexpr Config numbers{
      .tile_m = 32, .tile_n = 32, .tile_k = 16, .warp_m = 16, .warp_n = 16, .warps_k = 2};
  all_operations<std::complex<double>, numbers>({50, 40, 40, 1});
  constexpr auto ahead = [](Config c) {
    c.prefetch = true;
    c.specialised = true;
    return c;
  };
  all_operations<float, grouped(fma_small, 2, 32)>({72, 92, 100, 4});
  all_operations<float, grouped(fma_small, 4, 32, 3)>({72, 92, 200, 4});
  all_operations<float, ahead(grouped(fma_small, 2, 64))>({72, 92, 140, 4});
  all_operations<std::complex<float>, grouped(fma_small, 2, 32, 3)>({72, 92, 200, 4});
  all_operations<std::complex<float>, grouped(fma_small, 2, 16)>({70, 90, 50, 2});
  constexpr auto plain = [](Config c, GemmLargeLoad load) {
    c.layout = load == GemmLargeLoad::tensor ? GemmLargeLayout::plain : GemmLargeLayout::padding;
    c.load = load;
    c.boundary = load == GemmLargeLoad::tensor ? GemmLargeBoundary::none : GemmLargeBoundary::predicate;
    c.stages = load == GemmLargeLoad::tensor ? 3 : 2;
    return c;
  };
  all_operations<float, plain(grouped(fma_small, 2, 16, 2), GemmLargeLoad::registers)>({72, 92, 72, 4});
  expect_large<float, Shape{.trans_b = true}, plain(grouped(fma_small, 2, 16), GemmLargeLoad::tensor)>(
      {72, 92, 50, 4});
}

TEST(GemmLargeEmulation, TilesThatBlocksShare) {
  constexpr Config split =
      fields<Config>("tile_m=32 tile_n=64 tile_k=16 warp_m=32 warp_n=32 stages=2 raster=1 split_k=4");
  expect_large<double, Shape{.trans_a = true, .reads_c = true}, split>({70, 60, 150, 2});
  constexpr Config stream = fields<Config>(
      "tile_m=32 tile_n=64 tile_k=16 warp_m=32 warp_n=32 stages=2 raster=4 stream_k=1 "
      "persistent");
  expect_large<double, Shape{}, stream>({128, 130, 100, 2, 0, 5});
  expect_large<double, Shape{}, stream>({30, 50, 40, 2, 0, 7});
  constexpr Config more = fields<Config>(
      "tile_m=32 tile_n=64 tile_k=16 warp_m=32 warp_n=32 stages=2 raster=4 stream_k=2 "
      "persistent");
  expect_large<double, Shape{.trans_b = true}, more>({128, 130, 100, 2, 0, 3});
  constexpr Config tail =
      fields<Config>("tile_m=32 tile_n=64 tile_k=16 warp_m=32 warp_n=32 stages=2 raster=4 tail_k=3");
  // Two of twelve tiles are shared.
  expect_large<double, Shape{.reads_c = true}, tail>({128, 130, 100, 2, 0, 5});
  expect_large<double, Shape{}, tail>({128, 130, 100, 2, 0, 4});              // no tile is shared
  expect_large<double, Shape{.trans_a = true}, tail>({30, 50, 70, 2, 0, 7});  // the only tile is shared
}

// With more parts than one block adds, their sums are combined in groups.
TEST(GemmLargeEmulation, TilesOfManyParts) {
  constexpr Config split =
      fields<Config>("tile_m=32 tile_n=32 tile_k=16 warp_m=16 warp_n=16 stages=2 raster=1 split_k=32");
  expect_large<double, Shape{.reads_c = true}, split>({40, 30, 700, 2});
  constexpr Config stream = fields<Config>(
      "tile_m=32 tile_n=32 tile_k=16 warp_m=16 warp_n=16 stages=2 raster=1 stream_k=1 "
      "persistent");
  expect_large<double, Shape{}, stream>({30, 30, 500, 2, 0, 19});
}

// For every ring: nothing is read and C is not written before the preceding kernel has ended.
TEST(GemmLargeEmulation, LaunchesBeginEarly) {
  constexpr auto early = [](Config c) {
    c.dependent_launch = true;
    return c;
  };
  constexpr auto fed = [](Config c) {
    c.specialised = true;
    return c;
  };
  expect_large<double, Shape{.reads_c = true}, early(mma_small)>({70, 90, 54, 2});
  expect_large<double, Shape{}, early(fed(mma_small))>({70, 90, 54, 2});
  expect_large<double, Shape{.reads_c = true}, early(async(mma_small, GemmLargeLayout::swizzle))>(
      {70, 90, 54, 2});
  constexpr Config split{
      .tile_m = 32, .tile_n = 64, .tile_k = 16, .warp_m = 32, .warp_n = 32, .stages = 2, .split_k = 2};
  expect_large<double, Shape{.reads_c = true}, early(split)>({40, 40, 100, 2});
  constexpr Config stream = fields<Config>(
      "tile_m=32 tile_n=64 tile_k=16 warp_m=32 warp_n=32 stages=2 raster=4 stream_k=1 "
      "persistent");
  expect_large<double, Shape{}, early(stream)>({128, 130, 100, 2, 0, 5});
}

TEST(GemmLargeEmulation, NothingToSum) {
  constexpr Config split{
      .tile_m = 32, .tile_n = 64, .tile_k = 16, .warp_m = 32, .warp_n = 32, .stages = 2, .split_k = 2};
  expect_large<double, Shape{.reads_c = true}, mma_small>({40, 40, 40, 0}, 0.0);
  expect_large<double, Shape{}, split>({40, 40, 40, 0}, 0.0);
  constexpr Config tail{
      .tile_m = 32, .tile_n = 64, .tile_k = 16, .warp_m = 32, .warp_n = 32, .stages = 2, .tail_k = 2};
  expect_large<double, Shape{}, tail>({40, 40, 40, 0, 0, 3}, 0.0);
}

TEST(GemmLargeEmulation, AsynchronousCopiesFeedTensorCores) {
  all_operations<double, async(mma_small, GemmLargeLayout::swizzle)>({70, 90, 54, 2});
  all_operations<double, async(mma_small, GemmLargeLayout::padding, 8), 8>({61, 67, 39, 0, 1});
  all_operations<double, async(with(mma_small, GemmLargeProduct::mma_8x8x4), GemmLargeLayout::plain, 16,
                               GemmLargeBoundary::predicate)>({70, 90, 54, 2});
}

TEST(GemmLargeEmulation, OperandsAreReadAhead) {
  constexpr Config ahead{
      .tile_m = 32, .tile_n = 32, .tile_k = 32, .warp_m = 16, .warp_n = 16, .stages = 3, .prefetch = true};
  all_operations<double, ahead>({50, 40, 140, 2});
  all_operations<double, async(ahead, GemmLargeLayout::padding)>({50, 40, 140, 2});
}

TEST(GemmLargeEmulation, ComplexTensorCores) {
  using Z = std::complex<double>;
  constexpr Config z{
      .tile_m = 32, .tile_n = 32, .tile_k = 8, .warp_m = 16, .warp_n = 16, .stages = 3, .raster = 2};
  const Case one{37, 41, 27, 1};
  all_operations<Z, z>(one);
  expect_large<Z, Shape{.trans_a = true, .conj_a = true, .reads_c = true}, z>(one, Z(0.5, -1));
  expect_large<Z, Shape{.trans_b = true, .conj_b = true}, z>(one, Z(0.5, -1));
  expect_large<Z, Shape{.trans_a = true, .trans_b = true, .conj_a = true, .conj_b = true},
               with(z, GemmLargeProduct::mma_16x8x8)>(one);
  expect_large<Z, Shape{.trans_b = true},
               async(with(z, GemmLargeProduct::mma_8x8x4), GemmLargeLayout::padding)>(one);
}

constexpr Config fma_small = fields<Config>(
    "tile_m=64 tile_n=32 tile_k=16 warp_m=32 warp_n=16 thread_m=4 thread_n=4 product=fma "
    "load=async stages=3 layout=padding raster=2 boundary=residue");
constexpr Config fma_with(GemmLargeLoad load, int stages, GemmLargeBoundary boundary, int load_bytes,
                          bool prefetch, int k_unroll = 0) {
  Config c = fma_small;
  c.load = load;
  c.stages = stages;
  c.boundary = boundary;
  c.load_bytes = load_bytes;
  c.prefetch = prefetch;
  c.k_unroll = k_unroll;
  c.interleave = !prefetch;
  return c;
}

TEST(GemmLargeEmulation, MultiplyAddsOfAllTypes) {
  all_operations<float, fma_small>({100, 72, 40});
  // B is copied element by element, so its alignment does not matter.
  expect_large<float, Shape{.align_b = 4}, fma_small>({100, 70, 39});
  expect_large<double, Shape{.align_a = 8, .align_b = 8, .align_c = 8},
               fma_with(GemmLargeLoad::async, 3, GemmLargeBoundary::predicate, 8, true)>({65, 33, 19, 0, 1});
  expect_large<std::complex<float>, Shape{.trans_a = true, .trans_b = true, .conj_a = true, .reads_c = true},
               fma_small>({66, 34, 20, 0}, std::complex<float>(0.5f, 2));
  expect_large<std::complex<double>, Shape{.trans_b = true, .conj_b = true, .reads_c = true}, fma_small>(
      {65, 33, 19, 0}, std::complex<double>(0.5, 2));
}

TEST(GemmLargeEmulation, LoadsThroughRegisters) {
  const Case one{100, 68, 36, 0};
  all_operations<float, fma_with(GemmLargeLoad::plain, 1, GemmLargeBoundary::predicate, 4, false, 1)>(one);
  all_operations<float, fma_with(GemmLargeLoad::read_only, 2, GemmLargeBoundary::residue, 8, false, 2)>(one);
  all_operations<float, fma_with(GemmLargeLoad::registers, 1, GemmLargeBoundary::residue, 8, false)>(one);
  all_operations<float, fma_with(GemmLargeLoad::registers, 2, GemmLargeBoundary::residue, 16, true)>(one);
  all_operations<float, fma_with(GemmLargeLoad::registers, 2, GemmLargeBoundary::residue, 16, true, 2)>(one);
}

// Operands are read ahead from the only stage, which is filled again when all threads have read its last
// ones: in loops and unrolled, by loads that are held in registers and by those that are not.
TEST(GemmLargeEmulation, OneStageIsReadAhead) {
  const Case one{100, 68, 52, 0};
  const auto ahead = [&]<class T, GemmLargeLoad Load, int Unroll> {
    all_operations<T, fma_with(Load, 1, GemmLargeBoundary::residue, sizeof(T), true, Unroll)>(one);
  };
  ahead.template operator()<float, GemmLargeLoad::registers, 0>();
  ahead.template operator()<float, GemmLargeLoad::registers, 2>();
  ahead.template operator()<double, GemmLargeLoad::registers, 0>();
  ahead.template operator()<double, GemmLargeLoad::plain, 0>();
  ahead.template operator()<float, GemmLargeLoad::read_only, 2>();
  constexpr Config walking = [] {
    Config c = fma_with(GemmLargeLoad::registers, 1, GemmLargeBoundary::predicate, 8, true);
    c.persistent = true;
    return c;
  }();
  expect_large<double, Shape{.reads_c = true}, walking>({130, 100, 36, 0, 0, 2});
  expect_large<double, Shape{}, fma_with(GemmLargeLoad::registers, 1, GemmLargeBoundary::residue, 8, true)>(
      {30, 20, 8, 0});  // one tile of k
  expect_large<double, Shape{}, fma_with(GemmLargeLoad::registers, 1, GemmLargeBoundary::residue, 8, true)>(
      one, 0.0);
}

TEST(GemmLargeEmulation, ArrangementsOfReadingThreads) {
  constexpr Config c = fields<Config>(
      "tile_m=64 tile_n=32 tile_k=16 warp_m=32 warp_n=16 thread_m=4 thread_n=4 product=fma "
      "load=registers load_bytes=4 read_a=8 read_b=8 stages=2 shared_bytes=4 layout=plain "
      "boundary=none");
  all_operations<float, c>({128, 64, 48, 0});
}

constexpr Config as_stored(GemmLargeLoad load, int tile_k, bool prefetch) {
  Config c = fma_small;
  c.load = load;
  c.tile_k = tile_k;
  c.layout = GemmLargeLayout::swizzle;
  c.boundary = load == GemmLargeLoad::tensor ? GemmLargeBoundary::none : GemmLargeBoundary::residue;
  c.prefetch = prefetch;
  return c;
}

TEST(GemmLargeEmulation, MultiplyAddsReadSeveralKOfARow) {
  const Case one{100, 72, 84, 4};
  all_operations<float, as_stored(GemmLargeLoad::tensor, 32, false)>(one);
  all_operations<float, as_stored(GemmLargeLoad::tensor, 32, true)>(one);
  all_operations<float, as_stored(GemmLargeLoad::async, 32, false)>(one);
  all_operations<std::complex<float>, as_stored(GemmLargeLoad::tensor, 16, false)>(one);
  expect_large<std::complex<float>, Shape{.trans_a = true, .conj_a = true, .reads_c = true},
               as_stored(GemmLargeLoad::tensor, 16, true)>(one, std::complex<float>(0.5f, 2));
  all_operations<double, as_stored(GemmLargeLoad::async, 16, false)>(one);
  constexpr Config wide = fields<Config>(
      "tile_m=64 tile_n=128 tile_k=32 warp_m=64 warp_n=32 thread_m=8 thread_n=8 "
      "product=fma stages=2");
  all_operations<float, wide>({72, 140, 84, 4});
}

TEST(GemmLargeEmulation, TensorCopiesFeedMultiplyAdds) {
  constexpr Config c = fields<Config>(
      "tile_m=64 tile_n=32 tile_k=8 warp_m=32 warp_n=16 thread_m=4 thread_n=4 product=fma "
      "stages=3 prefetch layout=plain");
  expect_large<float, Shape{.trans_b = true, .reads_c = true}, c>({100, 72, 39, 0});
}

}  // namespace
}  // namespace tilewright
