// Runs the stencil of large GEMM on the host for batches: tiles that hold a whole C and such that share it,
// by the copy engine and by threads, walking or not, with sizes that leave part of the last stage empty.
#include "emulation/gemm_large_batch.hpp"
#include "emulation/gemm_large_configs.hpp"

namespace tilewright {
namespace {

using namespace emulation;

constexpr Shape of_batch(Shape s, GemmLargeBatch batch, int align = 16) {
  s.batch = batch;
  s.align_a = s.align_b = s.align_c = align;
  return s;
}
template <class T, Config C, GemmLargeBatch Batch, int Align = 16>
void all_batches(const Case& one, int problems) {
  expect_large_batch<T, of_batch({}, Batch, Align), C>(one, problems);
  expect_large_batch<T, of_batch({.trans_b = true, .reads_c = true}, Batch, Align), C>(one, problems);
  expect_large_batch<T, of_batch({.trans_a = true, .reads_c = true}, Batch, Align), C>(one, problems);
  expect_large_batch<T, of_batch({.trans_a = true, .trans_b = true}, Batch, Align), C>(one, problems);
}

constexpr auto strided = GemmLargeBatch::strided, pointers = GemmLargeBatch::pointers;
constexpr Config mma_whole{
    .tile_m = 48, .tile_n = 48, .tile_k = 16, .warp_m = 16, .warp_n = 48, .stages = 3, .raster = 2};

TEST(GemmLargeBatchEmulation, TensorCopiesOfStridedBatches) {
  all_batches<double, mma_whole, strided>({44, 46, 40, 2}, 5);
  all_batches<double, mma_small, strided>({70, 90, 54, 2}, 3);
  all_batches<double, with(mma_whole, GemmLargeProduct::mma_16x8x16), strided>({44, 46, 40, 2}, 3);
}

TEST(GemmLargeBatchEmulation, BlocksThatWalkAndAreFed) {
  constexpr auto walking = [](Config c, bool specialised) {
    c.persistent = true;
    c.specialised = specialised;
    return c;
  };
  all_batches<double, walking(mma_whole, true), strided>({44, 46, 40, 2, 0, 2}, 7);
  all_batches<double, walking(mma_small, false), strided>({70, 90, 54, 2, 0, 4}, 3);
  all_batches<double, walking(async(mma_whole, GemmLargeLayout::swizzle, 8), false), pointers, 8>(
      {45, 47, 41, 0, 0, 3}, 7);
}

TEST(GemmLargeBatchEmulation, ThreadsCopyBatchesOfAnyAlignment) {
  all_batches<double, async(mma_whole, GemmLargeLayout::swizzle, 8), strided, 8>({45, 47, 41, 0, 1}, 4);
  all_batches<double, async(mma_whole, GemmLargeLayout::swizzle, 8), pointers, 8>({45, 47, 41, 0, 1}, 4);
  all_batches<double, async(mma_small, GemmLargeLayout::swizzle), pointers>({70, 90, 54, 2}, 3);
}

TEST(GemmLargeBatchEmulation, ComplexTilesOfEightRows) {
  constexpr Config numbers =
      fields<Config>("tile_m=40 tile_n=40 tile_k=8 warp_m=40 warp_n=8 stages=3 product=mma_16x8x8");
  all_batches<std::complex<double>, numbers, strided>({37, 38, 21, 1}, 3);
  all_batches<std::complex<double>, async(numbers, GemmLargeLayout::swizzle), pointers>({37, 41, 21, 1}, 2);
  expect_large_batch<std::complex<double>,
                     of_batch({.trans_a = true, .conj_a = true, .reads_c = true}, strided), numbers>(
      {37, 38, 21, 1}, 2);
}

TEST(GemmLargeBatchEmulation, MultiplyAddsOfUnevenThreadTiles) {
  constexpr Config uneven = fields<Config>(
      "tile_m=72 tile_n=72 tile_k=8 warp_m=24 warp_n=72 thread_m=6 thread_n=9 product=fma load=async "
      "load_bytes=4 read_a=24 read_b=24 stages=3 layout=padding boundary=residue");
  expect_large_batch<float, of_batch({.trans_b = true}, strided, 4), uneven>({65, 65, 13, 0, 1}, 3);
  expect_large_batch<float, of_batch({.trans_b = true, .reads_c = true}, pointers, 4), uneven>(
      {65, 67, 22, 0, 1}, 2);
  constexpr Config held = fields<Config>(
      "tile_m=80 tile_n=40 tile_k=8 warp_m=40 warp_n=40 thread_m=10 thread_n=5 product=fma load=registers "
      "load_bytes=4 read_a=8 read_b=8 stages=2 layout=padding boundary=residue blocks_per_sm=4");
  all_batches<float, held, strided, 4>({43, 39, 27, 0, 1}, 3);
  all_batches<float, fma_small, strided>({52, 60, 40, 4}, 3);
}

TEST(GemmLargeBatchEmulation, AlphaZeroReadsNoAddressesOfAAndB) {
  constexpr Config copied = async(mma_whole, GemmLargeLayout::swizzle, 8);
  expect_large_batch<double, of_batch({.reads_c = true}, pointers, 8), copied>({45, 47, 41, 0, 1}, 3, 0.0);
  expect_large_batch<double, of_batch({.reads_c = true}, strided), mma_whole>({44, 46, 40, 2}, 3, 0.0);
}

}  // namespace
}  // namespace tilewright
