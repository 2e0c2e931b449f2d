// Runs the stencil of large GEMM on the host for batches whose problems have values of their own: sizes up to
// several tiles, alphas and betas, and bad problems, which are skipped and reported.
#include "emulation/gemm_large_configs.hpp"
#include "emulation/gemm_large_list.hpp"

namespace tilewright {
namespace {

using namespace emulation;

constexpr Shape listed(Shape s, int align) {
  s.batch = GemmLargeBatch::listed;
  s.align_a = s.align_b = s.align_c = align;
  return s;
}
constexpr Config mma_list =
    async({.tile_m = 48, .tile_n = 48, .tile_k = 16, .warp_m = 16, .warp_n = 48, .stages = 3, .raster = 2},
          GemmLargeLayout::swizzle, 8);
constexpr Config fma_list = fields<Config>(
    "tile_m=72 tile_n=72 tile_k=8 warp_m=24 warp_n=72 thread_m=6 thread_n=9 product=fma load=async "
    "load_bytes=4 read_a=24 read_b=24 stages=3 layout=padding boundary=residue");
constexpr Config held_list = fields<Config>(
    "tile_m=80 tile_n=40 tile_k=8 warp_m=40 warp_n=40 thread_m=10 thread_n=5 product=fma load=registers "
    "load_bytes=4 read_a=8 read_b=8 stages=2 layout=padding boundary=residue blocks_per_sm=4");
constexpr Config numbers_list =
    async(fields<Config>("tile_m=40 tile_n=40 tile_k=8 warp_m=40 warp_n=8 stages=3 product=mma_16x8x8"),
          GemmLargeLayout::swizzle);

template <class T, Config C, int Align>
void all_lists(const LargeCase& most) {
  expect_large_list<T, listed({}, Align), C>(most, {});
  expect_large_list<T, listed({.trans_b = true, .reads_c = true}, Align), C>(most, {true, true});
  expect_large_list<T, listed({.trans_a = true, .reads_c = true}, Align), C>(most, {false, true});
  expect_large_list<T, listed({.trans_a = true, .trans_b = true}, Align), C>(most, {true, false});
}

TEST(GemmLargeListEmulation, TensorCoresMultiplyProblemsOfTheirOwnSizes) {
  all_lists<double, mma_list, 8>({100, 70, 41, 0, 1});
  all_lists<double, mma_list, 8>({47, 45, 33, 1, 0});
}

TEST(GemmLargeListEmulation, ComplexNumbers) {
  all_lists<std::complex<double>, numbers_list, 16>({61, 45, 21, 1});
  expect_large_list<std::complex<double>, listed({.trans_a = true, .conj_a = true, .reads_c = true}, 16),
                    numbers_list>({41, 45, 21, 1}, {true, true});
}

TEST(GemmLargeListEmulation, MultiplyAdds) {
  expect_large_list<float, listed({.trans_b = true}, 4), fma_list>({75, 80, 21, 0, 1}, {true, false});
  expect_large_list<float, listed({.trans_b = true, .reads_c = true}, 4), fma_list>({75, 73, 22},
                                                                                    {true, true});
  all_lists<float, held_list, 4>({90, 43, 27, 1, 1});
}

TEST(GemmLargeListEmulation, BlocksWaitForTheLaunchBefore) {
  constexpr auto dependent = [](Config c) {
    c.dependent_launch = true;
    return c;
  };
  large.waits = large.next_launches = 0;
  expect_large_list<double, listed({}, 8), dependent(mma_list)>({60, 47, 21}, {});
  EXPECT_GT(large.waits, 0);
  EXPECT_EQ(large.waits, large.next_launches) << "blocks that end at once let the next kernel begin too";
}

TEST(GemmLargeListEmulation, BadProblemsAreSkippedAndReported) {
  const LargeCase most{60, 50, 20, 1};
  std::vector<ListItem<double>> items{{60, 50, 20}};
  for (const int code : {-7, -8, -9, -10, -12, -13}) {
    items.push_back({55, 49, 19});
    items.back().code = code;
    items.push_back({20, 30, 10});
  }
  for (const auto& [m, n, k, code] : {std::array{-1, 5, 5, -3},
                                      {61, 5, 5, -3},
                                      {5, -2, 5, -4},
                                      {5, 51, 5, -4},
                                      {5, 5, -1, -5},
                                      {5, 5, 21, -5}}) {
    items.push_back({m, n, k});
    items.back().code = code;
  }
  for (const bool vary : {false, true})
    LargeList<double, listed({.reads_c = true}, 8), mma_list>(most, items, {vary, vary}).expect(Copies::late);
}

TEST(GemmLargeListEmulation, NullAAndBAreNoFaultsWhereTheyAreNotRead) {
  std::vector<ListItem<double>> items{{60, 50, 20}, {30, 50, 20, 0, 2}, {30, 50, 0, 1, 2}};
  LargeList<double, listed({.reads_c = true}, 8), mma_list> list({60, 50, 20}, items, {true, true});
  list.hide_unread();
  list.expect(Copies::at_once);
}

}  // namespace
}  // namespace tilewright
