// Runs the stencil of large GEMM on the host: operands whose columns are loaded alternately by alignment, and
// sums that are set aside.
#include "emulation/gemm_large_configs.hpp"

namespace tilewright {
namespace {

using namespace emulation;

// If columns begin at odd multiples of 8 bytes, because of leading dimension, address or both, even and odd
// columns use separate maps; the last map has one column fewer, or the same number.
TEST(GemmLargeEmulation, ColumnsOfEitherAlignmentComeByTurns) {
  constexpr auto by_turns = [](GemmLargeProduct product, int tile_k = 16, int warps_k = 1,
                               bool prefetch = false) {
    Config c = with(mma_small, product);
    c.layout = GemmLargeLayout::padding;
    c.tile_k = tile_k;
    c.warps_k = warps_k;
    c.prefetch = prefetch;
    return c;
  };
  using enum GemmLargeProduct;
  for (const Case one :
       {Case{71, 91, 53, 2}, Case{70, 90, 54, 2, 1}, Case{33, 65, 17, 0, 1}, Case{33, 3, 3, 2}}) {
    all_operations<double, by_turns(mma_16x8x4), 8>(one);
    all_operations<double, by_turns(mma_16x8x8), 8>(one);
    all_operations<double, by_turns(mma_16x8x16), 8>(one);
    all_operations<double, by_turns(mma_16x8x8, 32, 1, true), 8>(one);
    all_operations<double, by_turns(mma_8x8x4, 64, 2, true), 8>(one);
  }
  // Schedules: parts of k, a warp that feeds, and blocks that process several tiles.
  constexpr auto scheduled = [](Config c, int split_k, int stream_k, bool specialised) {
    c.split_k = split_k;
    c.stream_k = stream_k;
    c.persistent = stream_k > 0;
    c.specialised = specialised;
    return c;
  };
  all_operations<double, scheduled(by_turns(mma_16x8x8), 3, 0, true), 8>({71, 91, 153, 2});
  all_operations<double, scheduled(by_turns(mma_16x8x4), 1, 1, false), 8>({71, 91, 153, 2});
  // Only one of the operands alternates.
  expect_large<double, Shape{.align_a = 8, .align_c = 8}, by_turns(mma_16x8x8)>({71, 90, 54, 0});
  expect_large<double, Shape{.align_b = 8}, by_turns(mma_16x8x4)>({70, 90, 53, 0});
  expect_large<double, Shape{.trans_a = true, .trans_b = true, .align_a = 8}, by_turns(mma_16x8x8)>(
      {70, 90, 53, 0});
}

// A sum of 2^24 swallows ones; sums that begin anew keep them.
TEST(GemmLargeEmulation, SumsAreSetAside) {
  constexpr auto aside = [](Config c, int turns, bool prefetch = false) {
    c.sum_turns = turns;
    c.prefetch = prefetch;
    return c;
  };
  constexpr Config numbers{.tile_m = 32, .tile_n = 32, .tile_k = 8, .warp_m = 16, .warp_n = 16};
  all_operations<float, aside(fma_small, 2)>({72, 92, 200, 4});
  all_operations<std::complex<float>, aside(fma_small, 1)>({72, 92, 100, 4});
  all_operations<float, aside(fma_small, 1, true)>({72, 92, 100, 4});
  all_operations<std::complex<double>, aside(numbers, 4)>({50, 40, 100, 1});
  constexpr auto shared = [](Config c, int warps_k, int split_k) {
    c.warps_k = warps_k;
    c.split_k = split_k;
    return c;
  };
  all_operations<float, shared(aside(fma_small, 1), 2, 3)>({72, 92, 300, 4});
  constexpr auto in_shared = [](Config c) {
    c.sums_in_shared = true;
    return c;
  };
  all_operations<float, in_shared(aside(fma_small, 2))>({72, 92, 200, 4});
  all_operations<std::complex<float>, in_shared(shared(aside(fma_small, 1), 2, 3))>({72, 92, 300, 4});
  all_operations<std::complex<double>, in_shared(aside(numbers, 4))>({50, 40, 100, 1});
  all_operations<double, in_shared(aside(with(mma_small, GemmLargeProduct::mma_16x8x8), 1, true))>(
      {72, 92, 152, 2});
  constexpr auto walking = [](Config c) {
    c.stream_k = 1;
    c.persistent = true;
    return c;
  };
  all_operations<double, walking(in_shared(aside(with(mma_small, GemmLargeProduct::mma_16x8x4), 2)))>(
      {72, 92, 152, 2});
  constexpr int k = 160;
  GemmProblem p = packed(parse_problem("gemm:f32:nn:m=64,n=64,k=160:location=device"));
  const Case one{64, 64, k};
  std::mt19937 random(3);
  LargeOperandSet<float> o{{64, k, one, random}, {k, 64, one, random}, {64, 64, one, random}};
  for (int l = 0; l < k; ++l)
    for (int i = 0; i < 64; ++i) o.a.at(i, l) = l == 0 ? 0x1p24f : 1, o.b.at(l, i) = 1;
  const auto sum = [&]<Config C> {
    EXPECT_EQ((run_large<float, Shape{}, C>(p, o, 1, 0, 3, Copies::at_once)), "");
    return o.c.at(5, 7);
  };
  EXPECT_EQ((sum.template operator()<aside(fma_small, 0)>()), 0x1p24f);
  EXPECT_EQ((sum.template operator()<aside(fma_small, 2)>()), 0x1p24f + 96);  // the terms after the first 64
  EXPECT_EQ((sum.template operator()<aside(fma_small, 1, true)>()), 0x1p24f + 128);
  EXPECT_EQ((sum.template operator()<in_shared(aside(fma_small, 2))>()), 0x1p24f + 96);
}

}  // namespace
}  // namespace tilewright
