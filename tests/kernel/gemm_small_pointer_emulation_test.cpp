// Runs the stencil of batched small GEMM on the host, as gemm_small_emulation_test does: pointer batches with
// and without varying sizes, and the errors that the emulation itself must detect.
#include "emulation/gemm_small.hpp"

namespace tilewright::emulation {
namespace {

using L = GemmSmallLoad;
using O = GemmSmallStore;
using R = GemmSmallRefill;
using Step = GemmSmallStep;

constexpr GemmSmallShape varying(int m, int n, int k, int align_bytes) {
  GemmSmallShape s{.m = m, .n = n, .k = k, .sizes_vary = true, .align_bytes = align_bytes};
  s.step_a = s.step_b = s.step_c = Step::pointer;
  return s;
}
SmallCase varying_case(DType dtype, int m, int n, int k, int smallest) {
  SmallCase one = problem_of(dtype, Layout::variable, m, n, k);
  one.smallest = smallest;
  one.problem.lda = one.problem.ldb = one.problem.ldc = 0;
  return one;
}
constexpr GemmSmallShape transposed_shape(GemmSmallShape s, bool a, bool b) {
  s.trans_a = a;
  s.trans_b = b;
  return s;
}

TEST(GemmSmallPointerEmulation, PointersToContiguousMatrices) {
  SmallCase one = problem_of(DType::f32, Layout::pointer, 5, 4, 6);
  one.faults = true;
  constexpr GemmSmallShape shape = fields<GemmSmallShape>(
      "m=5 n=4 k=6 step_a=pointer step_b=pointer step_c=pointer lda=5 ldb=6 ldc=5 "
      "align_bytes=4");
  constexpr GemmSmallConfig bulk{.matrices_per_block = 6, .threads = 64, .thread_m = 2, .thread_n = 2};
  constexpr GemmSmallConfig spare{
      .matrices_per_block = 40, .threads = 64, .thread_m = 5, .thread_n = 2, .refill = R::spare};
  constexpr GemmSmallConfig async = fields<GemmSmallConfig>(
      "matrices_per_block=6 threads=64 thread_m=2 thread_n=2 load=async store=shared "
      "stages=3");
  constexpr GemmSmallConfig direct = fields<GemmSmallConfig>(
      "matrices_per_block=5 threads=32 thread_m=3 thread_n=2 load=direct store=direct "
      "stages=1 persistent=false");
  for (const bool any : {false, true}) {
    one.any_alignment = any;
    expect_right<float, shape, bulk>(one);
    expect_right<float, shape, spare>(one);
    expect_right<float, shape, async>(one);
    expect_right<float, shape, direct>(one);
  }
}

// Matrices whose ends fill no piece, in rings of each kind: the ends are loaded separately, the entries with
// an earlier tile.
TEST(GemmSmallPointerEmulation, PointersToMatricesOfOddSizes) {
  SmallCase one = problem_of(DType::f64, Layout::pointer, 5, 3, 7);
  one.faults = one.scalars_vary = true;
  constexpr GemmSmallShape shape = fields<GemmSmallShape>(
      "m=5 n=3 k=7 step_a=pointer step_b=pointer step_c=pointer lda=5 ldb=7 ldc=5 "
      "scalars_vary align_bytes=8");
  constexpr GemmSmallConfig c_direct = fields<GemmSmallConfig>(
      "matrices_per_block=3 threads=32 thread_m=2 thread_n=3 store=direct stages=3 "
      "c_direct");
  constexpr GemmSmallConfig late{
      .matrices_per_block = 4, .threads = 64, .thread_m = 1, .thread_n = 1, .stages = 3};
  constexpr GemmSmallConfig at_once = fields<GemmSmallConfig>(
      "matrices_per_block=40 threads=96 thread_m=2 thread_n=2 stages=2 refill=at_once");
  constexpr GemmSmallConfig one_stage{.matrices_per_block = 2, .threads = 32, .stages = 1};
  constexpr GemmSmallConfig through_shared{
      .matrices_per_block = 5, .threads = 64, .thread_m = 1, .thread_n = 1, .store = O::shared};
  constexpr GemmSmallConfig async_bulk{
      .matrices_per_block = 6, .threads = 64, .thread_m = 1, .thread_n = 1, .load = L::async, .stages = 3};
  constexpr GemmSmallConfig async_once = fields<GemmSmallConfig>(
      "matrices_per_block=4 threads=32 thread_m=5 thread_n=1 load=async store=direct "
      "stages=1 persistent=false c_direct");
  for (const bool any : {false, true}) {
    one.any_alignment = any;
    expect_right<double, shape, c_direct>(one);
    expect_right<double, shape, late>(one);
    expect_right<double, shape, at_once>(one);
    expect_right<double, shape, one_stage>(one);
    expect_right<double, shape, through_shared>(one);
    expect_right<double, shape, async_bulk>(one);
    expect_right<double, shape, async_once>(one);
  }
}

TEST(GemmSmallPointerEmulation, PointersToMatricesWithGaps) {
  SmallCase one = problem_of(DType::f64, Layout::pointer, 4, 3, 6, 1);
  one.scalars_vary = one.faults = true;
  expect_right<double,
               fields<GemmSmallShape>(
                   "m=4 n=3 k=6 step_a=pointer step_b=pointer step_c=pointer scalars_vary align_bytes=8"),
               fields<GemmSmallConfig>(
                   "matrices_per_block=5 threads=32 thread_m=2 thread_n=2 load=async store=direct")>(one);
}

// Thread tiles of every height and width that problems of up to 3 x 3 steps use, and several rounds of small
// ones.
TEST(GemmSmallPointerEmulation, VaryingSizesOfSeveralSteps) {
  SmallCase one = varying_case(DType::f32, 20, 23, 5, 1);
  constexpr GemmSmallShape shape = varying(20, 23, 5, 4);
  expect_right<float, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=2 threads=64 thread_m=3 thread_n=6 k_unroll=4 load=async "
                   "store=direct stages=1 c_direct")>(one);
  expect_right<float, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=1 threads=32 thread_m=1 thread_n=2 k_unroll=4 load=async "
                   "store=direct stages=2")>(one);
  expect_right<float, shape,
               fields<GemmSmallConfig>(
                   "matrices_per_block=1 threads=32 thread_m=2 thread_n=4 k_unroll=2 load=async "
                   "store=direct stages=1 size_step=16")>(one);
}

TEST(GemmSmallPointerEmulation, VaryingSizes) {
  SmallCase one = varying_case(DType::f64, 9, 8, 7, 0);
  one.faults = one.gaps = true;
  constexpr GemmSmallShape shape = varying(9, 8, 7, 8);
  for (const bool any : {false, true}) {
    one.any_alignment = any;
    expect_right<double, shape,
                 fields<GemmSmallConfig>(
                     "matrices_per_block=3 threads=64 thread_m=2 thread_n=2 k_unroll=4 load=async "
                     "store=direct stages=2")>(one);
    expect_right<double, shape,
                 fields<GemmSmallConfig>(
                     "matrices_per_block=1 threads=32 thread_m=1 thread_n=2 load=async store=direct "
                     "stages=1 c_direct")>(one);
    expect_right<double, shape,
                 fields<GemmSmallConfig>(
                     "matrices_per_block=2 threads=64 thread_m=2 thread_n=2 load=async store=direct "
                     "stages=3 c_direct")>(one);
  }
}

// Rings that hold two problems of the largest size or many small ones, with and without C; blocks of several
// warps, some without work; more problems than a block takes at one time.
TEST(GemmSmallPointerEmulation, VaryingSizesThroughRings) {
  SmallCase one = varying_case(DType::f64, 9, 13, 7, 0);
  one.faults = true;
  constexpr GemmSmallShape shape = varying(9, 13, 7, 8);
  constexpr GemmSmallShape transposed = transposed_shape(varying(9, 13, 7, 8), true, true);
  constexpr GemmSmallConfig one_warp = fields<GemmSmallConfig>(
      "matrices_per_block=16 threads=32 thread_m=2 thread_n=4 k_unroll=2 store=direct "
      "stages=1 persistent=false");
  constexpr GemmSmallConfig two_warps = fields<GemmSmallConfig>(
      "matrices_per_block=24 threads=64 thread_m=1 thread_n=2 store=direct stages=2 "
      "persistent=false c_direct");
  constexpr GemmSmallConfig walking = fields<GemmSmallConfig>(
      "matrices_per_block=5 threads=96 thread_m=2 thread_n=4 store=direct stages=3 "
      "size_step=16");
  for (const bool any : {false, true})
    for (const bool gaps : {false, true}) {
      one.any_alignment = any;
      one.gaps = gaps;
      one.problem.op_a = one.problem.op_b = Op::none;
      expect_right<double, shape, one_warp>(one);
      expect_right<double, shape, two_warps>(one);
      expect_right<double, shape, walking>(one);
      one.problem.op_a = one.problem.op_b = Op::trans;
      expect_right<double, transposed, one_warp>(one);
      expect_right<double, transposed, walking>(one);
    }
}

// Forty problems per warp use each place of the ring several times; steps of 32; one operand transposed;
// scalars of their own.
TEST(GemmSmallPointerEmulation, LongRunsThroughRings) {
  constexpr GemmSmallConfig many = fields<GemmSmallConfig>(
      "matrices_per_block=40 threads=32 thread_m=4 thread_n=8 k_unroll=4 store=direct "
      "stages=1 persistent=false size_step=32");
  constexpr GemmSmallConfig shared_out = fields<GemmSmallConfig>(
      "matrices_per_block=80 threads=64 thread_m=1 thread_n=4 store=direct stages=2 "
      "persistent=false c_direct");
  SmallCase one = varying_case(DType::f32, 26, 30, 9, 1);
  one.faults = true;
  one.problem.op_a = Op::trans;
  constexpr GemmSmallShape tn = transposed_shape(varying(26, 30, 9, 4), true, false);
  constexpr GemmSmallShape nt = [] {
    GemmSmallShape s = transposed_shape(varying(30, 26, 5, 8), false, true);
    s.scalars_vary = true;
    return s;
  }();
  for (const bool any : {false, true}) {
    one.any_alignment = any;
    expect_right<float, tn, many>(one);
    expect_right<float, tn, shared_out>(one);
  }
  SmallCase other = varying_case(DType::f64, 30, 26, 5, 0);
  other.faults = other.scalars_vary = other.gaps = true;
  other.problem.op_b = Op::trans;
  expect_right<double, nt, many>(other);
  expect_right<double, nt, shared_out>(other);
}

TEST(GemmSmallPointerEmulation, VaryingSizesOfTransposedMatrices) {
  SmallCase one = varying_case(DType::f64, 9, 8, 7, 0);
  one.faults = true;
  constexpr GemmSmallShape transposed = transposed_shape(varying(9, 8, 7, 8), true, true);
  one.problem.op_a = one.problem.op_b = Op::trans;
  expect_right<double, transposed,
               fields<GemmSmallConfig>(
                   "matrices_per_block=1 threads=32 thread_m=2 thread_n=2 load=async store=direct "
                   "stages=2")>(one);
  expect_right<double, transposed,
               fields<GemmSmallConfig>(
                   "matrices_per_block=1 threads=32 thread_m=1 thread_n=2 load=direct store=direct "
                   "stages=1")>(one);
}

// The emulation must detect a copy that no thread waits for, and a missing arrival.
TEST(GemmSmallPointerEmulation, ArrivalsOfCopiesAreCounted) {
  alignas(64) double values[32];
  std::fill(std::begin(values), std::end(values), 1.0);
  auto* const barrier = reinterpret_cast<unsigned long long*>(shared + 1024);
  auto* const to = reinterpret_cast<double*>(shared);
  const auto run_kernel = [&](unsigned arrivals, bool arrives) {
    Launch launch;
    launch.threads = 32;
    launch.shared_bytes = 2048;
    launch.copies = Copies::late;
    launch.global = {{values, sizeof values}};
    return run(launch, [&] {
      if (threadIdx.x == 0) barrier_init(barrier, arrivals);
      __syncthreads();
      tilewright::copy_async<8>(to + threadIdx.x, values + threadIdx.x);
      if (arrives) tilewright::copy_async_arrive(barrier);
      if (threadIdx.x == 0) tilewright::barrier_arrive_expect(barrier, 0);
      tilewright::barrier_wait(barrier, 0);
    });
  };
  EXPECT_EQ(run_kernel(33, true), "");
  EXPECT_EQ(to[31], 1.0);
  EXPECT_NE(run_kernel(34, true), "");
  EXPECT_NE(run_kernel(1, false), "");
}

}  // namespace
}  // namespace tilewright::emulation
