// Sums of products into one C by the stencil of batched small GEMM, run on the host thread by thread: runs
// that end within and beyond a warp's part, lists of offsets, products that add nothing, and the parts of one
// long sum.
#include "emulation/gemm_small.hpp"
#include "kernel/gemm_small/total.cuh"

namespace tilewright::emulation {
namespace {

using L = GemmSmallLoad;
using O = GemmSmallStore;
using Step = GemmSmallStep;
using Sum = GemmSmallSums;

SmallCase stack_of(DType dtype, int m, int n, int k, std::int64_t run, int gap = 0) {
  SmallCase one = problem_of(dtype, Layout::pointer, m, n, k, gap);
  one.problem.sums = Sums::stack;
  one.problem.run = run;
  one.any_alignment = true;
  return one;
}

constexpr GemmSmallShape listed(int m, int n, int k, int bytes, bool packed = true) {
  return {.m = m,
          .n = n,
          .k = k,
          .step_a = Step::pointer,
          .step_b = Step::pointer,
          .step_c = Step::pointer,
          .lda = packed ? m : 0,
          .ldb = packed ? k : 0,
          .ldc = packed ? m : 0,
          .align_bytes = bytes,
          .sums = Sum::listed};
}
constexpr GemmSmallConfig sums_config(int products, int threads, int thread_m, int thread_n, L load,
                                      int stages) {
  return {.matrices_per_block = products,
          .threads = threads,
          .thread_m = thread_m,
          .thread_n = thread_n,
          .load = load,
          .store = O::direct,
          .stages = stages,
          .persistent = false,
          .c_direct = load != L::direct};
}

// Runs of one product, runs that end within a warp's part of the list, and runs that span several.
template <class T, GemmSmallShape S, GemmSmallConfig C>
void expect_right_runs(int gap = 0) {
  for (const std::int64_t run : {1, 3, 40, 150})
    expect_right<T, S, C>(stack_of(dtype_of<T>, S.m, S.n, S.k, run, gap));
}

TEST(GemmSmallRunsEmulation, ProductsThatComeByCopies) {
  expect_right_runs<double, listed(8, 8, 8, 8), sums_config(16, 64, 2, 1, L::async, 3)>();
  expect_right_runs<float, listed(5, 3, 7, 4), sums_config(40, 32, 2, 1, L::async, 2)>();
  expect_right_runs<double, listed(9, 13, 5, 8, false), sums_config(6, 64, 3, 4, L::async, 4)>(2);
}

TEST(GemmSmallRunsEmulation, ProductsThatAreReadWhereTheyLie) {
  expect_right_runs<double, listed(8, 8, 8, 8), sums_config(64, 64, 2, 1, L::direct, 1)>();
  expect_right_runs<std::complex<float>, listed(4, 6, 3, 8, false), sums_config(8, 32, 1, 1, L::direct, 1)>(
      1);
}

TEST(GemmSmallRunsEmulation, TensorCores) {
  constexpr GemmSmallConfig read = fields<GemmSmallConfig>(
      "matrices_per_block=16 threads=64 thread_m=1 thread_n=2 load=direct store=direct "
      "stages=1 multiply=mma_8x8x4");
  expect_right_runs<double, listed(8, 8, 8, 8), read>();
  expect_right_runs<double, listed(13, 7, 6, 8), read>();  // several passes
  constexpr GemmSmallConfig copied = fields<GemmSmallConfig>(
      "matrices_per_block=16 threads=32 thread_m=2 thread_n=4 load=async store=direct "
      "stages=2 persistent c_direct multiply=mma_16x8x4");
  expect_right_runs<double, listed(13, 13, 13, 8), copied>();
}

TEST(GemmSmallRunsEmulation, ACThatIsOnlyWritten) {
  SmallCase one = stack_of(DType::f64, 4, 4, 4, 6);
  one.problem.beta = Scalar::zero;
  constexpr GemmSmallShape shape = [] {
    GemmSmallShape s = listed(4, 4, 4, 8);
    s.reads_c = false;
    return s;
  }();
  constexpr GemmSmallConfig config = [] {
    GemmSmallConfig c = sums_config(8, 32, 1, 1, L::async, 2);
    c.c_direct = false;
    return c;
  }();
  expect_right<double, shape, config>(one);
}

// A batch is reduced in one part.
TEST(GemmSmallRunsEmulation, AWholeBatch) {
  SmallCase one = problem_of(DType::f64, Layout::strided, 6, 5, 4, 1);
  one.problem.sums = Sums::batch_reduce;
  one.problem.beta = Scalar::zero;
  constexpr GemmSmallShape shape = fields<GemmSmallShape>(
      "m=6 n=5 k=4 reads_c=false step_a=strided step_b=strided step_c=strided "
      "align_bytes=8 sums=fixed");
  constexpr GemmSmallConfig config = [] {
    GemmSmallConfig c = sums_config(2, 64, 2, 1, L::async, 3);
    c.c_direct = false;
    return c;
  }();
  expect_right<double, shape, config>(one);
}

// The list of offsets has five products of 2 x 2, one without effect because its A is null: sums of C at 0
// (two products) and 4 (two), and a C whose only product has no A.
TEST(GemmSmallRunsEmulation, ListsOfOffsetsAndOfAddresses) {
  constexpr GemmSmallConfig config = sums_config(4, 32, 1, 1, L::async, 2);
  const double a[] = {1, 2, 3, 4, 5, 6, 7, 8}, b[] = {1, 0, 0, 1, 2, 0, 0, 2};
  double c[12], expected[12];
  std::fill(std::begin(c), std::end(c), 1.0);
  std::copy(std::begin(c), std::end(c), expected);
  const long long offsets[][3] = {{0, 0, 0}, {4, 4, 0}, {0, 4, 4}, {4, 0, 4}};
  for (const auto& x : offsets)
    for (int i = 0; i < 4; ++i) expected[x[2] + i] += a[x[0] + i] * b[x[1]];
  GemmSmallArgs<double> args = {};
  args.a = reinterpret_cast<const double*>(&offsets[0][0]);
  args.b = reinterpret_cast<const double*>(&offsets[0][1]);
  args.c = reinterpret_cast<double*>(const_cast<long long*>(&offsets[0][2]));
  args.origin_a = a, args.origin_b = b, args.origin_c = c;
  args.list_step = 3;
  args.count = 4;
  args.alpha = args.beta = 1;
  Launch launch;
  launch.threads = 32;
  constexpr GemmSmallShape shape = listed(2, 2, 2, 8);
  launch.shared_bytes = unsigned(gemm_small_memory(shape, config, 8).total_bytes);
  launch.global = {{a, sizeof a}, {b, sizeof b}};
  EXPECT_EQ(run(launch, [&] { gemm_small<double, shape, config>(args); }), "");
  EXPECT_TRUE(std::equal(std::begin(c), std::end(c), expected));

  const void* addresses[][3] = {{a, b, c + 8}, {nullptr, b, c + 8}, {a, b, nullptr}, {a, nullptr, c}};
  for (int i = 0; i < 4; ++i) expected[8 + i] += a[i];
  args.a = reinterpret_cast<const double*>(&addresses[0][0]);
  args.b = reinterpret_cast<const double*>(&addresses[0][1]);
  args.c = reinterpret_cast<double*>(&addresses[0][2]);
  args.origin_a = args.origin_b = args.origin_c = nullptr;
  EXPECT_EQ(run(launch, [&] { gemm_small<double, shape, config>(args); }), "");
  EXPECT_TRUE(std::equal(std::begin(c), std::end(c), expected));
}

TEST(GemmSmallRunsEmulation, PartsAreAddedUp) {
  constexpr int m = 5, n = 3, ld = 7, parts = 300;
  std::vector<double> part(std::size_t(m * n * parts)), c(std::size_t(ld * n), 2), before = c;
  for (std::size_t i = 0; i < part.size(); ++i) part[i] = double(i % 11);
  GemmSmallTotalArgs<double> args = {};
  args.parts = part.data(), args.c = c.data(), args.part_count = parts;
  args.m = m, args.n = n, args.ldc = ld;
  args.alpha = 2, args.beta = 3, args.reads_c = true;
  Launch launch;
  launch.threads = gemm_small_total_elements * gemm_small_total_shares;
  launch.blocks = (m * n - 1) / gemm_small_total_elements + 1;
  launch.shared_bytes = launch.threads * sizeof(double);
  EXPECT_EQ(run(launch, [&] { gemm_small_total<double>(args); }), "");
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < ld; ++i) {
      double sum = 0;
      for (int p = 0; p < parts && i < m; ++p) sum += part[std::size_t((p * n + j) * m + i)];
      EXPECT_EQ(c[std::size_t(j * ld + i)], i < m ? 2 * sum + 3 * 2 : 2) << i << ", " << j;
    }
}

}  // namespace
}  // namespace tilewright::emulation
