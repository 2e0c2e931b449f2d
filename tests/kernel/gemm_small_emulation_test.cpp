// Runs the stencil of batched small GEMM on the host thread by thread: every layout, load path, store path
// and refill against plain loops, with copies that arrive at once and as late as allowed.
#include "emulation/gemm_small.hpp"

namespace tilewright::emulation {
namespace {

using L = GemmSmallLoad;
using O = GemmSmallStore;
using R = GemmSmallRefill;
using Step = GemmSmallStep;

TEST(GemmSmallEmulation, PackedTilesOfWholeLines) {
  expect_right<double,
               GemmSmallShape{.m = 4, .n = 8, .k = 4, .lda = 4, .ldb = 4, .ldc = 4, .align_bytes = 128},
               GemmSmallConfig{.matrices_per_block = 4, .threads = 32, .thread_m = 2, .thread_n = 4}>(
      problem_of(DType::f64, Layout::strided, 4, 8, 4));
}

TEST(GemmSmallEmulation, PackedTilesThatLieShifted) {
  SmallCase one = problem_of(DType::f32, Layout::strided, 5, 3, 7);
  one.shift = 3;
  constexpr GemmSmallShape shape{.m = 5, .n = 3, .k = 7, .lda = 5, .ldb = 7, .ldc = 5, .align_bytes = 4};
  expect_right<float, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=6 threads=64 thread_m=2 thread_n=2 stages=3 refill=spare "
                   "shift_bytes=128")>(one);
  expect_right<float, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=32 thread_m=5 thread_n=1 refill=at_once shift_bytes=32")>(
      one);
  expect_right<float, shape,
               GemmSmallConfig{
                   .matrices_per_block = 1, .threads = 32, .load = L::async, .store = O::bulk, .stages = 2}>(
      one);
  one.problem.beta = Scalar::zero;
  constexpr GemmSmallShape writes{
      .m = 5, .n = 3, .k = 7, .reads_c = false, .lda = 5, .ldb = 7, .ldc = 5, .align_bytes = 4};
  expect_right<float, writes,
               fields<GemmSmallConfig>(
                   "matrices_per_block=2 threads=32 thread_m=2 thread_n=1 stages=4 refill=spare "
                   "shift_bytes=128")>(one);
  expect_right<
      float, writes,
      GemmSmallConfig{
          .matrices_per_block = 2, .threads = 32, .load = L::async, .stages = 2, .refill = R::at_once}>(one);
}

TEST(GemmSmallEmulation, OperationsOfComplexMatrices) {
  expect_right<std::complex<float>,
               fields<GemmSmallShape>("m=4 n=6 k=5 trans_a conj_a lda=5 ldb=5 ldc=4 align_bytes=16"),
               fields<GemmSmallConfig>(
                   "matrices_per_block=10 threads=64 thread_m=2 thread_n=3 k_unroll=4 store=shared "
                   "shift_bytes=128")>(
      with_ops(problem_of(DType::c64, Layout::strided, 4, 6, 5), Op::conj_trans, Op::none));
  expect_right<std::complex<double>,
               GemmSmallShape{
                   .m = 3, .n = 4, .k = 2, .trans_b = true, .lda = 3, .ldb = 4, .ldc = 3, .align_bytes = 16},
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=32 thread_m=2 thread_n=2 load=async store=direct "
                   "columns_together c_direct")>(
      with_ops(problem_of(DType::c128, Layout::strided, 3, 4, 2), Op::none, Op::trans));
}

TEST(GemmSmallEmulation, ReadDirectly) {
  expect_right<double,
               GemmSmallShape{.m = 6, .n = 4, .k = 8, .lda = 6, .ldb = 8, .ldc = 6, .align_bytes = 16},
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=32 thread_m=4 thread_n=3 load=direct store=direct "
                   "stages=1 persistent=false")>(problem_of(DType::f64, Layout::strided, 6, 4, 8));
}

// A and B come through the read-only cache, of which C, that the kernel writes, has nothing; by thread tiles,
// tensor cores, and for elements of 4 to 16 bytes.
TEST(GemmSmallEmulation, ReadThroughTheReadOnlyCache) {
  auto reads = [before = read_only_count]() mutable {
    return read_only_count - std::exchange(before, read_only_count);
  };
  expect_right<double,
               GemmSmallShape{.m = 6, .n = 4, .k = 8, .lda = 6, .ldb = 8, .ldc = 6, .align_bytes = 16},
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=32 thread_m=4 thread_n=3 load=read_only store=direct "
                   "stages=1 persistent=false")>(problem_of(DType::f64, Layout::strided, 6, 4, 8));
  EXPECT_GT(reads(), 0);
  expect_right<double,
               GemmSmallShape{.m = 6, .n = 4, .k = 8, .lda = 6, .ldb = 8, .ldc = 6, .align_bytes = 16},
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=32 thread_m=4 thread_n=3 load=direct store=direct "
                   "stages=1 persistent=false")>(problem_of(DType::f64, Layout::strided, 6, 4, 8));
  EXPECT_EQ(reads(), 0);
  expect_right<float, fields<GemmSmallShape>("m=5 n=3 k=7 trans_a lda=7 ldb=7 ldc=5 align_bytes=4"),
               fields<GemmSmallConfig>(
                   "matrices_per_block=8 threads=64 thread_m=2 thread_n=1 load=read_only store=direct "
                   "stages=1")>(
      with_ops(problem_of(DType::f32, Layout::strided, 5, 3, 7), Op::trans, Op::none));
  expect_right<std::complex<double>,
               GemmSmallShape{
                   .m = 3, .n = 4, .k = 2, .trans_b = true, .lda = 3, .ldb = 4, .ldc = 3, .align_bytes = 16},
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=32 thread_m=2 thread_n=2 load=read_only store=direct "
                   "stages=1")>(
      with_ops(problem_of(DType::c128, Layout::strided, 3, 4, 2), Op::none, Op::trans));
  reads();
  expect_right<double,
               GemmSmallShape{.m = 9, .n = 10, .k = 7, .lda = 9, .ldb = 7, .ldc = 9, .align_bytes = 8},
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=64 thread_m=1 thread_n=2 load=read_only store=direct "
                   "stages=1 multiply=mma_8x8x4")>(problem_of(DType::f64, Layout::strided, 9, 10, 7));
  EXPECT_GT(reads(), 0);
}

// The threads that update the old C read it, in packs or not, and do not read it if beta is zero.
TEST(GemmSmallEmulation, ReadsOfTheOldCThatIsNotStaged) {
  SmallCase one = problem_of(DType::f32, Layout::strided, 8, 6, 5);
  one.scalars_vary = true;
  constexpr GemmSmallShape shape{
      .m = 8, .n = 6, .k = 5, .lda = 8, .ldb = 5, .ldc = 8, .scalars_vary = true, .align_bytes = 128};
  expect_right<float, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=4 threads=32 thread_m=4 thread_n=4 store=direct shift_bytes=128 "
                   "c_direct")>(one);
  expect_right<float, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=32 thread_m=3 thread_n=2 store=bulk stages=3 c_direct")>(
      one);
}

TEST(GemmSmallEmulation, GapsBelowMatrices) {
  constexpr GemmSmallShape narrow{.m = 5, .n = 4, .k = 3, .lda = 7, .ldb = 5, .ldc = 7, .align_bytes = 16};
  const SmallCase one = problem_of(DType::f64, Layout::strided, 5, 4, 3, 2);
  expect_right<double, narrow,
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=32 thread_m=2 thread_n=2 store=shared shift_bytes=128")>(
      one);
  expect_right<double, narrow,
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=32 thread_m=2 thread_n=2 load=async store=direct")>(one);
  constexpr GemmSmallShape wide =
      fields<GemmSmallShape>("m=4 n=4 k=4 step_a=strided step_b=strided step_c=strided align_bytes=16");
  expect_right<double, wide,
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=32 thread_m=2 thread_n=2 load=async store=shared "
                   "stages=3")>(problem_of(DType::f64, Layout::strided, 4, 4, 4, 9));
}

TEST(GemmSmallEmulation, BroadcastOperands) {
  SmallCase one = problem_of(DType::f64, Layout::strided, 4, 5, 3);
  one.problem.stride_b = 0;
  expect_right<double,
               GemmSmallShape{
                   .m = 4, .n = 5, .k = 3, .step_b = Step::broadcast, .lda = 4, .ldc = 4, .align_bytes = 128},
               GemmSmallConfig{.matrices_per_block = 4, .threads = 32, .thread_m = 2, .thread_n = 3}>(one);
}

TEST(GemmSmallEmulation, AlphaZeroAndAlphaPerProblem) {
  SmallCase one = problem_of(DType::f32, Layout::strided, 4, 4, 4);
  one.problem.alpha = Scalar::zero;
  expect_right<float, GemmSmallShape{.m = 4, .n = 4, .k = 0, .lda = 4, .ldb = 4, .ldc = 4, .align_bytes = 16},
               GemmSmallConfig{.matrices_per_block = 4, .threads = 32, .thread_m = 2, .thread_n = 2}>(one);
  one.problem.alpha = Scalar::general;
  one.scalars_vary = true;
  expect_right<
      float,
      GemmSmallShape{
          .m = 4, .n = 4, .k = 4, .lda = 4, .ldb = 4, .ldc = 4, .scalars_vary = true, .align_bytes = 16},
      GemmSmallConfig{
          .matrices_per_block = 4, .threads = 32, .thread_m = 2, .thread_n = 2, .shift_bytes = 128}>(one);
}

TEST(GemmSmallEmulation, BlocksOfInterleavedMatrices) {
  SmallCase one = problem_of(DType::f64, Layout::block_interleaved, 3, 4, 5);
  one.problem.block = 4;
  constexpr GemmSmallShape shape{
      .m = 3, .n = 4, .k = 5, .lda = 3, .ldb = 5, .ldc = 3, .interleave = 4, .align_bytes = 128};
  expect_right<double, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=12 threads=64 thread_m=2 thread_n=2 refill=spare shift_bytes=128")>(
      one);
  expect_right<double, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=4 threads=32 thread_m=3 thread_n=2 load=direct store=direct "
                   "stages=1 persistent=false")>(one);
  SmallCase gaps = problem_of(DType::f32, Layout::block_interleaved, 3, 4, 5, 1);
  gaps.problem.block = 3;
  expect_right<float,
               GemmSmallShape{
                   .m = 3, .n = 4, .k = 5, .lda = 4, .ldb = 6, .ldc = 4, .interleave = 3, .align_bytes = 16},
               fields<GemmSmallConfig>(
                   "matrices_per_block=6 threads=32 thread_m=2 thread_n=2 load=async store=shared")>(gaps);
}

TEST(GemmSmallEmulation, LargeBlocksOfInterleavedMatrices) {
  SmallCase one = problem_of(DType::f32, Layout::block_interleaved, 3, 2, 4, 1);
  one.problem.block = 72;
  constexpr GemmSmallShape shape = fields<GemmSmallShape>(
      "m=3 n=2 k=4 step_a=interleaved step_b=interleaved step_c=interleaved interleave=8 "
      "align_bytes=16");
  expect_right<float, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=8 threads=32 thread_m=2 thread_n=2 load=async store=direct")>(one);
  expect_right<float, shape,
               GemmSmallConfig{.matrices_per_block = 4, .threads = 32, .load = L::async, .store = O::shared}>(
      one);
  SmallCase whole = problem_of(DType::f64, Layout::interleaved, 3, 2, 4);
  whole.problem.block = whole.problem.batch_count = 1001;
  constexpr GemmSmallShape of_all = fields<GemmSmallShape>(
      "m=3 n=2 k=4 step_a=interleaved step_b=interleaved step_c=interleaved interleave=0 "
      "align_bytes=16");
  expect_right<double, of_all,
               fields<GemmSmallConfig>(
                   "matrices_per_block=40 threads=64 thread_m=3 load=async store=direct stages=3")>(whole);
  expect_right<double, of_all,
               fields<GemmSmallConfig>(
                   "matrices_per_block=40 threads=64 thread_m=3 load=direct store=direct stages=1")>(whole);
}

// Threads read elements of large interleaved matrices where they lie.
TEST(GemmSmallEmulation, InterleavedMatricesAboveTheOthersLimit) {
  SmallCase one = problem_of(DType::f64, Layout::interleaved, 66, 5, 71, 1);
  one.problem.block = one.problem.batch_count = 101;
  constexpr GemmSmallConfig where_they_lie = fields<GemmSmallConfig>(
      "matrices_per_block=8 threads=64 thread_m=4 thread_n=5 k_unroll=2 load=direct store=direct stages=1 "
      "persistent=false");
  expect_right<double,
               fields<GemmSmallShape>("m=66 n=5 k=71 step_a=interleaved step_b=interleaved "
                                      "step_c=interleaved interleave=0 align_bytes=16"),
               where_they_lie>(one);
  SmallCase blocks =
      with_ops(problem_of(DType::f32, Layout::block_interleaved, 5, 70, 9), Op::trans, Op::none);
  blocks.problem.block = 8;
  expect_right<float,
               fields<GemmSmallShape>("m=5 n=70 k=9 trans_a lda=9 ldb=9 ldc=5 interleave=8 align_bytes=16"),
               where_they_lie>(blocks);
}

// These sizes fill no tensor-core product in any direction.
TEST(GemmSmallEmulation, TensorCores) {
  expect_right<
      double, GemmSmallShape{.m = 20, .n = 13, .k = 6, .lda = 20, .ldb = 6, .ldc = 20, .align_bytes = 16},
      fields<GemmSmallConfig>("matrices_per_block=2 threads=64 thread_m=2 thread_n=4 shift_bytes=128 "
                              "multiply=mma_16x8x4")>(problem_of(DType::f64, Layout::strided, 20, 13, 6));
  expect_right<
      double, fields<GemmSmallShape>("m=20 n=13 k=7 trans_a trans_b lda=7 ldb=13 ldc=20 align_bytes=16"),
      fields<GemmSmallConfig>("matrices_per_block=1 threads=96 thread_m=1 thread_n=2 k_unroll=4 load=async "
                              "store=shared multiply=mma_8x8x4")>(
      with_ops(problem_of(DType::f64, Layout::strided, 20, 13, 7), Op::trans, Op::trans));
}

TEST(GemmSmallEmulation, TensorCoresOfComplexMatricesByPointer) {
  constexpr GemmSmallShape shape = fields<GemmSmallShape>(
      "m=9 n=7 k=5 trans_a conj_a step_a=pointer step_b=pointer step_c=pointer lda=5 ldb=5 "
      "ldc=9 align_bytes=16");
  const SmallCase one = with_ops(problem_of(DType::c128, Layout::pointer, 9, 7, 5), Op::conj_trans, Op::none);
  expect_right<std::complex<double>, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=3 threads=32 thread_m=2 thread_n=2 multiply=mma_16x8x4")>(one);
  expect_right<std::complex<double>, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=2 threads=64 thread_m=1 thread_n=2 load=direct store=direct "
                   "stages=1 multiply=mma_8x8x4")>(one);
}

}  // namespace
}  // namespace tilewright::emulation
