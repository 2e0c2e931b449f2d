// Rounding errors of large GEMM on the GPU beside cuBLAS's: where that library shares k among blocks its sums
// are short, and ours shall have errors no larger. What is known of it was read from errors
// (docs/gemm_large.md, "Rounding").
#include <algorithm>
#include <cmath>
#include <tuple>

#include "kernel/gemm_large.hpp"

namespace tilewright {
namespace {

using C = GemmLargeConfig;

std::int64_t batch_of(const GemmProblem& p) { return std::max<std::int64_t>(1, p.batch_count); }
// Those of all matrices of a batch, which is taken for one C as large (not measured).
double elements_of_c(const GemmProblem& p) { return double(p.m) * double(p.n) * double(batch_of(p)); }

// Whether it does: not for n >= 2048, else where k is long for the size of C, of c128 also where C is small,
// and where its tiles do not fill the device: of f64 if C is large, of f32 and c64 unless k is short.
bool vendor_shares_k(const GemmProblem& p, const GpuLimits& limits) {
  const double size = std::sqrt(elements_of_c(p)), k = double(p.k);
  if (size >= 2048) return false;
  if (k > (p.dtype == DType::c128 ? 1.25 : 2) * size) return true;
  if (p.dtype == DType::c128) return size <= 256;
  if (p.dtype == DType::f64 && (k < size || size <= 1152)) return false;
  if (p.dtype != DType::f64 && k <= 0.4 * size) return false;
  double filled = 0;
  for (const auto& [rows, columns] :
       {std::pair(64.0, 128.0), std::pair(128.0, 64.0), std::pair(128.0, 128.0)}) {
    const double tiles =
        std::ceil(double(p.m) / rows) * std::ceil(double(p.n) / columns) * double(batch_of(p));
    filled = std::max(filled, tiles / (std::ceil(tiles / limits.multiprocessors) * limits.multiprocessors));
  }
  return filled < 0.9;
}

// The fewest terms that its sums have there, by the smaller side of C: to 128, to 512 and beyond. All that
// was seen has at least the largest of three numbers.
double vendor_terms(const GemmProblem& p) {
  struct Class {
    double parts;  // at most so many of k; of sides between 128 and 512 where the side is 256, else in
                   // inverse proportion to it
    double least;  // terms
    double root;   // terms over the root of k: what parts grow with has no most
  };
  struct Classes {
    Class small, middle, large;
  };
  // Parts of c128, and its roots, allow for data of graded magnitudes, whose errors were half as large: its
  // blocks take turns through k, so that their first terms, which err most, are not all in one part.
  const Classes of_type = p.dtype == DType::f64    ? Classes{{104, 80, 2.4}, {13.5, 270, 6.7}, {17, 350, 7.5}}
                          : p.dtype == DType::c128 ? Classes{{137, 30, 1.8}, {24, 32, 3.7}, {14, 200, 6}}
                          : p.dtype == DType::c64  ? Classes{{88, 15, 1.7}, {18, 64, 4.2}, {31, 180, 4.1}}
                                                   : Classes{{120, 32, 0.9}, {53, 60, 1.7}, {12, 100, 3.6}};
  const double k = double(p.k), side = double(std::min(p.m, p.n));
  const bool small = side <= 128, middle = !small && side <= 512;
  const Class& seen = small ? of_type.small : middle ? of_type.middle : of_type.large;
  const double parts = middle ? seen.parts * 256 / side : seen.parts;
  return std::max({seen.least, k / parts, seen.root * std::sqrt(k)});
}

double allowed_terms(const GemmProblem& p) { return 1.1 * vendor_terms(p); }  // 5 % of the error

// `c` with as long sums as are allowed, else with those that err least.
C with_allowed_sums(const GemmProblem& p, C c) {
  C best = c;
  best.sum_turns = 0;
  double least = gemm_large_terms(p, best);
  for (c.sum_turns = 32; c.sum_turns > 0 && least > allowed_terms(p); c.sum_turns /= 2)
    if (const double terms = gemm_large_terms(p, c); terms < least)
      std::tie(best, least) = std::pair(c, terms);
  return best;
}

// What every problem has a fast config for: in tiles of k = 16, shared by two groups of warps or split where
// the choice tries that (consider_schedules() in gemm_large_choice.cpp).
double fewest_terms(const GemmProblem& p, const GpuLimits& limits) {
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
    for (c.warps_k = 1; c.warps_k <= (small_tiles <= limits.multiprocessors ? 2 : 1); ++c.warps_k)
      fewest = std::min(fewest, gemm_large_terms(p, with_allowed_sums(p, c)));
  }
  return fewest;
}

}  // namespace

// The variance of the rounding error of a sum of L independent terms grows with L^2. So that of k terms is k
// times L where they are added in sums of L each, and k more for every sum that one after the other is added
// up of them.
double gemm_large_terms(const GemmProblem& p, const C& c) {
  // The strips beside whole tiles are of one part; tail_k, too, leaves most tiles whole.
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

int gemm_large_sum_turns(const GemmProblem& p, const C& c, const GpuLimits& limits) {
  return vendor_shares_k(p, limits) ? with_allowed_sums(p, c).sum_turns : 0;
}

Space<C> gemm_large_accurate_space(const GemmProblem& problem, const GemmLargeShape& shape,
                                   const GpuLimits& limits) {
  Space<C> space = gemm_large_space(problem, shape, limits);
  if (!vendor_shares_k(problem, limits)) return space;
  const double most = std::max(allowed_terms(problem), fewest_terms(problem, limits));
  space.require("sums of few tiles are set aside, or errors would be larger than cuBLAS's",
                [=](const C& c) { return gemm_large_terms(problem, c) <= most; });
  return space;
}

}  // namespace tilewright
