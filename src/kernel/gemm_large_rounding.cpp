// Rounding errors of large GEMM on the GPU beside cuBLAS's: where that library shares k among blocks its sums
// are short, and ours shall have errors no larger. What is known of it was read from errors
// (docs/gemm_large.md, "Rounding").
#include <algorithm>
#include <cmath>

#include "kernel/gemm_large.hpp"

namespace tilewright {
namespace {

using C = GemmLargeConfig;

// Whether it does: not for n >= 2048, else where k is long for the size of C, of c128 also where C is small,
// and of f32 and c64 where its tiles do not fill the device.
bool vendor_shares_k(const GemmProblem& p, const GpuLimits& limits) {
  const double size = std::sqrt(double(p.m) * double(p.n));
  if (size >= 2048) return false;
  if (double(p.k) > (p.dtype == DType::c128 ? 1.25 : 2) * size) return true;
  if (p.dtype == DType::c128) return size <= 256;
  if (p.dtype == DType::f64 && double(p.k) < size) return false;
  double filled = 0;
  for (const auto& [rows, columns] :
       {std::pair(64.0, 128.0), std::pair(128.0, 64.0), std::pair(128.0, 128.0)}) {
    const double tiles = std::ceil(double(p.m) / rows) * std::ceil(double(p.n) / columns);
    filled = std::max(filled, tiles / (std::ceil(tiles / limits.multiprocessors) * limits.multiprocessors));
  }
  return filled < 0.9;
}

// The fewest terms that its sums have there: of at most so many parts, and no fewer than `least`. By the
// smaller side of C: to 128, to 512 and beyond.
double vendor_terms(const GemmProblem& p) {
  struct Class {
    double parts, least;
  };
  struct Classes {
    Class small, middle, large;
  };
  // Those of c128 are halved for data of graded magnitudes: its blocks take turns through k, and their first
  // terms, which err most, are not all in one part.
  const Classes of_type = p.dtype == DType::f64    ? Classes{{32, 80}, {8, 320}, {17, 350}}
                          : p.dtype == DType::c128 ? Classes{{66, 32}, {20, 32}, {14, 200}}
                          : p.dtype == DType::c64  ? Classes{{64, 16}, {16, 64}, {31, 190}}
                                                   : Classes{{66, 32}, {51, 64}, {12, 100}};
  const auto side = std::min(p.m, p.n);
  const Class& seen = side <= 128 ? of_type.small : side <= 512 ? of_type.middle : of_type.large;
  return std::max(seen.least, double(p.k) / seen.parts);
}

// The variance of the rounding error of a sum of L independent terms grows with L^2, so that of one of `c`'s,
// made of C / L sums of L, with C (L + C / L): the bracket.
double variance_of_a_term(const GemmProblem& p, const C& c) {
  const double chain =
      double(p.k) / (double(c.split_k) * c.warps_k);  // tail_k leaves whole tiles as they are
  const double terms = double(c.sum_turns) * c.tile_k / c.warps_k;
  return c.sum_turns == 0 || terms >= chain ? chain : terms + chain / terms;
}

double allowed_variance(const GemmProblem& p) { return 1.1 * vendor_terms(p); }  // 5 % of the error

}  // namespace

int gemm_large_sum_turns(const GemmProblem& p, const C& config, const GpuLimits& limits) {
  C c = config;
  c.sum_turns = 0;
  if (!vendor_shares_k(p, limits) || variance_of_a_term(p, c) <= allowed_variance(p)) return 0;
  for (c.sum_turns = 32; c.sum_turns > 1; c.sum_turns /= 2)
    if (variance_of_a_term(p, c) <= allowed_variance(p)) break;
  return double(c.sum_turns) * c.tile_k / c.warps_k < double(p.k) / (double(c.split_k) * c.warps_k)
             ? c.sum_turns
             : 0;
}

Space<C> gemm_large_accurate_space(const GemmProblem& problem, const GemmLargeShape& shape,
                                   const GpuLimits& limits) {
  Space<C> space = gemm_large_space(problem, shape, limits);
  space.require("sums of few tiles are set aside, or errors would be larger than cuBLAS's", [=](const C& c) {
    C best = c;
    best.sum_turns = gemm_large_sum_turns(problem, c, limits);
    return best.sum_turns == 0 || variance_of_a_term(problem, c) <=
                                      std::max(allowed_variance(problem), variance_of_a_term(problem, best));
  });
  return space;
}

}  // namespace tilewright
