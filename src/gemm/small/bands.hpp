// How products with one long side, m or n, and two short ones are cut into bands of the long side, each a
// problem of the small kernels.
#pragma once

#include <algorithm>

#include "core/problem.hpp"
#include "gemm/small/key.hpp"

namespace tilewright {

inline bool has_one_long_side(std::int64_t m, std::int64_t n, std::int64_t k) {
  return is_small_size(k) && is_small_size(std::min(m, n)) && std::max(m, n) > gemm_small_cpu_limit;
}

// In elements, of A, B and C.
struct BandSteps {
  std::int64_t a, b, c;
};

// `count` bands of `size` rows, or columns, and one of `rest`.
struct Bands {
  bool of_rows = true;
  std::int64_t size = 0, count = 0, rest = 0;

  // From the start of a product to what begins `at` rows, or columns, behind it.
  BandSteps offset(const GemmProblem& p, std::int64_t at) const {
    if (of_rows) return {p.op_a == Op::none ? at : at * p.lda, 0, at};
    return {0, p.op_b == Op::none ? at * p.ldb : at, at * p.ldc};
  }
};

// Even bands, in whole lines of the cache, so that the last is not a sliver; a few more of them where columns
// can then be dealt out without a rest.
inline Bands bands_of(const GemmProblem& p) {
  Bands bands;
  bands.of_rows = p.m > gemm_small_cpu_limit;
  const std::int64_t total = bands.of_rows ? p.m : p.n;
  const std::int64_t line = bands.of_rows ? 64 / size_bytes(p.dtype) : 1;
  const std::int64_t lines = (total + line - 1) / line, most = gemm_small_cpu_limit / line;
  constexpr std::int64_t few = 2;
  const std::int64_t least = (lines + most - 1) / most;
  std::int64_t parts = least;
  while (!bands.of_rows && lines % parts != 0 && parts < least + few) ++parts;
  if (lines % parts != 0) parts = least;
  bands.size = (lines + parts - 1) / parts * line;
  bands.count = total / bands.size;
  bands.rest = total % bands.size;
  return bands;
}

}  // namespace tilewright
