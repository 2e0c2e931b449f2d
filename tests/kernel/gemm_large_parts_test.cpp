// Large GEMM by several launches, without a GPU: the residues that tiles leave, and copies that are padded or
// transposed.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kernel/gemm_large/gemm_large.hpp"
#include "kernel/gemm_large_cases.hpp"

namespace tilewright {
namespace {

using Config = GemmLargeConfig;
using testing::problem;

// Counts the products of each element of C, and checks that the parts were added to C in order.
struct Coverage {
  explicit Coverage(const GemmProblem& problem) : p(problem), times(std::size_t(p.m * p.n * p.k)) {}
  void add(const GemmLargePart& part) {
    for (std::int64_t i = part.row; i < part.row + part.m; ++i)
      for (std::int64_t j = part.column; j < part.column + part.n; ++j) {
        const bool adds = part.role == GemmLargeRole::adding;
        if (written.insert({i, j}).second == adds) in_order = false;
        for (std::int64_t k = part.depth; k < part.depth + part.k; ++k)
          ++times[std::size_t((i * p.n + j) * p.k + k)];
      }
  }
  bool once() const {
    return std::all_of(times.begin(), times.end(), [](int count) { return count == 1; }) &&
           written.size() == std::size_t(p.m * p.n);
  }

  GemmProblem p;
  std::vector<int> times;
  std::set<std::pair<std::int64_t, std::int64_t>> written;
  bool in_order = true;
};

// Every product is formed once; only launches that add visit elements that were written before.
TEST(GemmLarge, PartsOfResidueKernelsCoverTheProductOnce) {
  const Config c{.tile_m = 16, .tile_n = 32, .tile_k = 8, .boundary = GemmLargeBoundary::residue_kernel};
  for (const int m : {15, 16, 35})
    for (const int n : {31, 32, 70})
      for (const int k : {0, 5, 8, 19}) {
        const GemmProblem p = problem(DType::f64, m, n, k);
        Coverage covered(p);
        for (const GemmLargePart& part : gemm_large_parts(p, c)) {
          covered.add(part);
          if (part.role == GemmLargeRole::rest) continue;
          EXPECT_TRUE(part.m % c.tile_m == 0 && part.n % c.tile_n == 0 && part.k % c.tile_k == 0);
        }
        EXPECT_TRUE(covered.once() && covered.in_order) << to_string(p);
      }
}

GemmLargePadding padding_of(const GemmProblem& p, const Config& c) {
  return gemm_large_padding(p, gemm_large_shape(p), c);
}

TEST(GemmLarge, PaddedCopiesAreWholeTiles) {
  const Config c{.tile_m = 64,
                 .tile_n = 32,
                 .tile_k = 16,
                 .load = GemmLargeLoad::async,
                 .boundary = GemmLargeBoundary::zero_padding};
  const GemmProblem p = problem(DType::f32, 65, 31, 33, Op::trans, Op::none, 1);
  const GemmLargePadding padding = padding_of(p, c);
  EXPECT_EQ(std::tuple(padding.inner_a, padding.outer_a), std::tuple(48, 128));
  EXPECT_EQ(std::tuple(padding.inner_b, padding.outer_b), std::tuple(48, 32));
  EXPECT_EQ(std::tuple(padding.a_bytes, padding.b_bytes), std::tuple(48 * 128 * 4, 48 * 32 * 4));
  const GemmProblem q = gemm_large_padded(p, c, padding);
  EXPECT_EQ(std::tuple(q.m, q.n, q.k, q.lda, q.ldb, q.ldc), std::tuple(65, 31, 48, 48, 48, p.ldc));
  EXPECT_EQ(padding_of(problem(DType::f32, 65, 31, 0), c).a_bytes, 0);
  EXPECT_EQ(padding_of(p, Config{}).a_bytes, 0);
  EXPECT_EQ(gemm_large_kernel_shape(gemm_large_shape(p), c).align_a, 16);
}

TEST(GemmLarge, TheCopyEngineGetsCopiesOfWhatIsNotAlignedAlone) {
  const Config c{.tile_m = 64, .tile_n = 32, .tile_k = 16, .boundary = GemmLargeBoundary::zero_padding};
  const GemmProblem p = problem(DType::f64, 7, 800, 802, Op::none, Op::none);
  const GemmLargePadding padding = padding_of(p, c);
  EXPECT_EQ(std::tuple(padding.inner_a, padding.outer_a, padding.a_bytes), std::tuple(8, 802, 51456));
  EXPECT_EQ(padding.b_bytes, 0) << "is read where it lies";
  const GemmProblem q = gemm_large_padded(p, c, padding);
  EXPECT_EQ(std::tuple(q.k, q.lda, q.ldb), std::tuple(802, 8, p.ldb));
  const GemmProblem swapped = problem(DType::f64, 800, 7, 802, Op::none, Op::trans);
  EXPECT_EQ(padding_of(swapped, c).a_bytes, 0);
  EXPECT_EQ(padding_of(swapped, c).b_bytes, 51456);
  // If everything is aligned, such a config is the same as the one without copies.
  const GemmLargeDevice limits = testing::known_gpu(90);
  const GemmProblem aligned = problem(DType::f64, 8, 800, 802, Op::none, Op::none);
  Config padded = gemm_large_default(aligned, gemm_large_shape(aligned), limits);
  padded.boundary = GemmLargeBoundary::zero_padding;
  EXPECT_FALSE(gemm_large_space(aligned, gemm_large_shape(aligned), limits).contains(padded));
  EXPECT_TRUE(gemm_large_space(p, gemm_large_shape(p), limits).contains(padded));
}

TEST(GemmLarge, TransposedCopiesHaveTheirRowsContiguous) {
  const Config c{.tile_m = 64, .tile_n = 32, .tile_k = 16, .contiguous = GemmLargeContiguous::rows};
  const GemmProblem p = problem(DType::f32, 65, 31, 33, Op::none, Op::none);
  const GemmLargePadding padding = padding_of(p, c);
  EXPECT_EQ(padding.a_bytes, 0);  // read in place
  EXPECT_EQ(std::tuple(padding.inner_b, padding.outer_b, padding.b_bytes), std::tuple(32, 33, 4352));
  EXPECT_FALSE(padding.transposes_a);
  EXPECT_TRUE(padding.transposes_b);
  const GemmProblem q = gemm_large_padded(p, c, padding);
  EXPECT_EQ(std::tuple(q.n, q.k, q.lda, q.ldb), std::tuple(31, 33, p.lda, 32));
  const GemmLargeShape s = gemm_large_kernel_shape(gemm_large_shape(p), c);
  EXPECT_FALSE(s.trans_a);
  EXPECT_TRUE(s.trans_b);
  EXPECT_EQ(std::tuple(s.align_a, s.align_b), std::tuple(4, 16));
  EXPECT_EQ(gemm_large_kernel_shape(s, c), s);

  Config both = c;
  both.boundary = GemmLargeBoundary::zero_padding;
  both.load = GemmLargeLoad::async;
  const GemmProblem tn = problem(DType::c64, 65, 31, 33, Op::conj_trans, Op::none);
  const GemmLargePadding padded = padding_of(tn, both);
  EXPECT_EQ(std::tuple(padded.inner_a, padded.outer_a), std::tuple(128, 48));
  EXPECT_EQ(std::tuple(padded.inner_b, padded.outer_b), std::tuple(32, 48));
  EXPECT_TRUE(padded.transposes_a && padded.transposes_b);
  EXPECT_TRUE(gemm_large_kernel_shape(gemm_large_shape(tn), both).conj_a);
}

TEST(GemmLarge, TransposedCopiesHaveTheirKContiguous) {
  const Config c{.tile_m = 64, .tile_n = 32, .tile_k = 16, .contiguous = GemmLargeContiguous::k};
  const GemmProblem p = problem(DType::f32, 65, 31, 33, Op::none, Op::none);
  const GemmLargePadding padding = padding_of(p, c);
  EXPECT_EQ(padding.b_bytes, 0);  // read in place
  EXPECT_EQ(std::tuple(padding.inner_a, padding.outer_a, padding.a_bytes), std::tuple(36, 65, 9472));
  EXPECT_TRUE(padding.transposes_a);
  EXPECT_FALSE(padding.transposes_b);
  const GemmProblem q = gemm_large_padded(p, c, padding);
  EXPECT_EQ(std::tuple(q.m, q.k, q.lda, q.ldb), std::tuple(65, 33, 36, p.ldb));
  const GemmLargeShape s = gemm_large_kernel_shape(gemm_large_shape(p), c);
  EXPECT_TRUE(s.trans_a);
  EXPECT_FALSE(s.trans_b);
  EXPECT_EQ(std::tuple(s.align_a, s.align_b), std::tuple(16, 4));
  EXPECT_EQ(gemm_large_kernel_shape(s, c), s);
  EXPECT_EQ(padding_of(problem(DType::f32, 65, 31, 33, Op::trans, Op::none), c).bytes(), 0);

  Config both = c;
  both.boundary = GemmLargeBoundary::zero_padding;
  both.load = GemmLargeLoad::async;
  const GemmLargePadding padded = padding_of(problem(DType::c64, 65, 31, 33, Op::none, Op::trans), both);
  EXPECT_EQ(std::tuple(padded.inner_a, padded.outer_a), std::tuple(48, 128));
  EXPECT_EQ(std::tuple(padded.inner_b, padded.outer_b), std::tuple(48, 32));
}

}  // namespace
}  // namespace tilewright
