// Bounds rounding errors of large GEMM by cuBLAS's, whose sums are short if it shares k (docs/gemm_large.md).
#include <algorithm>
#include <cmath>
#include <tuple>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {
namespace {

using C = GemmLargeConfig;

// Allows 5 % more error than the sums of cuBLAS have.
double allowed_of(double cublas_terms) { return 1.1 * cublas_terms; }

// Returns `c` with sums as long as permitted; if none are, with those of the smallest error.
C with_allowed_sums(const GemmProblem& p, C c, double allowed) {
  C best = c;
  best.sum_turns = 0;
  double least = gemm_large_terms(p, best);
  for (c.sum_turns = gemm_large_most_sum_turns; c.sum_turns > 0 && least > allowed; c.sum_turns /= 2)
    if (const double terms = gemm_large_terms(p, c); terms < least)
      std::tie(best, least) = std::pair(c, terms);
  return best;
}

// Returns the fewest terms for which every problem has a fast config: in tiles of k = 16, shared by two
// groups of warps or split (consider_schedules() in gemm_large/choice.cpp).
double fewest_terms(const GemmProblem& p, const GpuLimits& limits, double allowed) {
  const auto tiles_of = [&](double side) {
    return std::ceil(double(p.m) / side) * std::ceil(double(p.n) / side);
  };
  const double tiles = tiles_of(64), small_tiles = tiles_of(32);
  C c;
  c.tile_k = 16;
  double fewest = double(p.k);
  for (const int split : gemm_large_splits) {
    if (split > 1 && (tiles >= 2.0 * limits.multiprocessors || double(p.k) / (split * c.tile_k) < 4)) break;
    c.split_k = split;
    for (c.warps_k = 1; c.warps_k <= (split == 1 && small_tiles <= limits.multiprocessors ? 2 : 1);
         ++c.warps_k)
      fewest = std::min(fewest, gemm_large_terms(p, with_allowed_sums(p, c, allowed)));
  }
  return fewest;
}

}  // namespace

// The variance of the rounding error of a sum of L independent terms grows with L^2: k terms in sums of L
// have k * L, plus k for each of these sums.
double gemm_large_terms(const GemmProblem& p, const C& c) {
  // Strips beside whole tiles are not split; tail_k, too, leaves most tiles whole.
  const int parts = c.boundary == GemmLargeBoundary::residue_kernel ? 1 : c.split_k;
  const double chain = double(p.k) / (double(parts) * c.warps_k);
  const double terms = double(c.sum_turns) * c.tile_k / c.warps_k;
  double sum = c.sum_turns == 0 || terms >= chain ? chain : terms + chain / terms;
  if (c.warps_k > 1) sum += c.warps_k;
  for (int count = parts; count > 1;) {
    const int size = gemm_large_group_size(count);
    sum += size;
    count = (count + size - 1) / size;
  }
  return sum;
}

int gemm_large_sum_turns(const GemmProblem& p, const C& c, const GemmLargeDevice& device) {
  const double terms = cublas_terms(p, device);
  return terms > 0 ? with_allowed_sums(p, c, allowed_of(terms)).sum_turns : 0;
}

Space<C> gemm_large_accurate_space(const GemmProblem& problem, const GemmLargeShape& shape,
                                   const GemmLargeDevice& device) {
  Space<C> space = gemm_large_space(problem, shape, device);
  const double terms = cublas_terms(problem, device);
  if (terms == 0) return space;
  const double allowed = allowed_of(terms);
  const double most = std::max(allowed, fewest_terms(problem, device, allowed));
  space.require("sums of few tiles are set aside, or errors would be larger than cuBLAS's",
                [=](const C& c) { return gemm_large_terms(problem, c) <= most; });
  return space;
}

}  // namespace tilewright
