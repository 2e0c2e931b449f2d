// What was read from errors of cuBLAS 13.1 on sm_90 (docs/gemm_large.md, "Rounding"): conditions that miss
// none of the recorded problems whose k it shares, and a table. Of those where it shares nothing they say so
// of a quarter, which costs speed there and no accuracy.
#include "kernel/gemm_large/cublas_sums.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace tilewright {
namespace {

struct Tile {
  double m, n;
};

// A product as the conditions see it. A batch, which is not measured, counts as one C as large.
struct Seen {
  Seen(const GemmProblem& problem, const GpuLimits& limits)
      : p(problem),
        multiprocessors(limits.multiprocessors),
        batch(double(std::max<std::int64_t>(1, p.batch_count))),
        size(std::sqrt(double(p.m) * double(p.n) * batch)),
        relative_k(double(p.k) / size),
        nn(p.op_a == Op::none && p.op_b == Op::none),
        nt(p.op_a == Op::none && p.op_b != Op::none),
        tn(p.op_a != Op::none && p.op_b == Op::none) {}

  // The most that any of `tiles` fills of the waves that they make.
  double filled(std::initializer_list<Tile> tiles) const {
    double most = 0;
    for (const Tile& tile : tiles) {
      const double count = std::ceil(double(p.m) / tile.m) * std::ceil(double(p.n) / tile.n) * batch;
      most = std::max(most, count / (std::ceil(count / multiprocessors) * multiprocessors));
    }
    return most;
  }

  const GemmProblem& p;
  double multiprocessors;
  double batch;
  double size;        // root of the elements of C
  double relative_k;  // k over that
  bool nn, nt, tn;    // t is c, too
};

const std::initializer_list<Tile> square_tile = {{128, 128}};
const std::initializer_list<Tile> small_tiles = {{64, 128}, {128, 64}, {128, 128}};
const std::initializer_list<Tile> large_tiles = {{256, 128}, {128, 256}};
constexpr double other_kernels = 1152;  // beyond this size cuBLAS behaves differently in what was recorded

bool f64_is_shared(const Seen& s) {
  if (s.size >= 2048) return false;
  if (s.relative_k >= 2 && (s.size < 1900 || s.nt)) return true;
  const bool odd = (s.p.m | s.p.n | s.p.k) % 2 != 0;  // other kernels serve these
  if (s.relative_k < (s.size > (odd ? 1024 : other_kernels) ? 1 : 1.25)) return false;
  return s.filled(s.nt ? square_tile : small_tiles) < 0.9;
}

bool c128_is_shared(const Seen& s) {
  return s.size < 2048 && (s.size <= 256 || s.relative_k > (s.size < 1400 ? 1.25 : 5));
}

bool c64_is_shared(const Seen& s) {
  if (s.size >= 2048 || s.relative_k <= 0.4) return false;
  const bool uneven = s.nt || s.tn;
  const bool long_k = s.relative_k >= (s.size <= other_kernels ? 1.3 : 2);
  if (long_k && (s.size < 1900 || uneven)) return true;
  if (uneven && s.size > other_kernels) return s.size < 1850;
  return s.filled(small_tiles) < 0.92;
}

// nt of long k, whose kernel has two groups of warps as it seems.
bool f32_is_halved(const Seen& s) { return s.nt && s.p.k >= 3000; }

bool f32_is_shared(const Seen& s) {
  if (s.relative_k <= 0.4) return false;
  const bool long_k = s.relative_k >= (s.size <= other_kernels ? 1.3 : 2);
  if (long_k && s.size < (s.nn ? 1900 : 2048)) return true;
  // nt of 1024 is shared although it fills a wave; what lies between it and 1000 was not seen.
  if (s.size <= other_kernels) return (s.nt && s.size > 1000) || s.filled(small_tiles) < 0.9;
  if (f32_is_halved(s) || (s.tn && s.relative_k >= 4)) return true;
  if (s.p.op_a != Op::none && s.size > 2700 && s.relative_k < 1.5) return false;
  return s.filled(large_tiles) < 0.92;
}

// All that was seen has at least the largest of three numbers of terms.
struct Fewest {
  double parts;  // k over it
  double least;
  double root;        // times the root of k, as parts grow with k and have no most
  double growth = 0;  // the power of k that parts grow with from 65536 on
};

// By the smaller side of C: to 64, to 128, to 512, where parts are those of a side of 256 and in inverse
// proportion to it, and beyond. To 128 C is oblong where the other side is 16 times as long and 1000 at
// least; `huge` are C of f32 from 2048 on.
struct FewestOfType {
  Fewest to_64, to_128, oblong, to_512, large, huge;
};

// Parts of c128, and its roots, allow for data of graded magnitudes, whose errors were half as large: its
// blocks take turns through k, so that their first terms, which err most, are not all in one part.
const FewestOfType& fewest_of(DType dtype) {
  static const FewestOfType f64 = {{104, 80, 2.2, 1.0 / 6}, {36, 130, 4.3}, {9.5, 80, 6.7},
                                   {20, 270, 6.7},          {17, 350, 7.5}, {17, 350, 7.5}};
  static const FewestOfType c128 = {{137, 30, 1.6},     {34, 30, 3.7}, {16, 30, 4.1},
                                    {24, 32, 3.7, 0.4}, {7, 400, 11},  {7, 400, 11}};
  static const FewestOfType c64 = {{146, 15, 0.94}, {70, 15, 2},    {22, 15, 4.2},
                                   {33, 64, 4.2},   {31, 125, 4.1}, {31, 125, 4.1}};
  static const FewestOfType f32 = {{155, 32, 0.9, 0.25}, {155, 32, 0.9, 0.25}, {75, 32, 0.9},
                                   {70, 42, 1.7},        {12, 100, 3.6},       {9, 300, 9}};
  switch (dtype) {
    case DType::f64:
      return f64;
    case DType::c128:
      return c128;
    case DType::c64:
      return c64;
    default:
      return f32;
  }
}

const Fewest& fewest_of(const GemmProblem& p, double size) {
  const FewestOfType& all = fewest_of(p.dtype);
  const std::int64_t side = std::min(p.m, p.n), other = std::max(p.m, p.n);
  if (side <= 128 && other >= std::max<std::int64_t>(16 * side, 1000)) return all.oblong;
  if (side <= 64) return all.to_64;
  if (side <= 128) return all.to_128;
  if (side <= 512) return all.to_512;
  return size >= 2048 ? all.huge : all.large;
}

}  // namespace

bool cublas_shares_k(const GemmProblem& p, const GpuLimits& limits) {
  const Seen seen(p, limits);
  switch (p.dtype) {
    case DType::f64:
      return f64_is_shared(seen);
    case DType::c128:
      return c128_is_shared(seen);
    case DType::c64:
      return c64_is_shared(seen);
    default:
      return f32_is_shared(seen);
  }
}

double cublas_terms(const GemmProblem& p, const GpuLimits& limits) {
  const Seen seen(p, limits);
  const double k = double(p.k), side = double(std::min(p.m, p.n));
  if (p.dtype == DType::f32 && seen.size >= 2048 && f32_is_halved(seen) && seen.filled(large_tiles) >= 0.92)
    return k / 2.1;  // halves, less what recorded errors scatter by
  const Fewest& fewest = fewest_of(p, seen.size);
  double parts = fewest.parts * std::pow(std::max(1.0, k / 65536), fewest.growth);
  if (side > 128 && side <= 512) parts *= 256 / side;
  return std::max({fewest.least, k / parts, fewest.root * std::sqrt(k)});
}

}  // namespace tilewright
