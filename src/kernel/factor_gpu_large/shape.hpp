// The kernels that compute a routine on matrices of any order, and their configs: a factorization, or a copy
// of factors that the result takes the place of, and a solve with what it leaves.
#pragma once

#include "kernel/factor_gpu/shape.hpp"
#include "kernel/factor_gpu_large/config.hpp"

namespace tilewright {

// Shared memory of a device, which configs must fit.
struct FactorLargeRoom {
  int shared_bytes = 233472, shared_bytes_per_block = 232448;  // of a multiprocessor; of a block
};

// The shape of all orders and numbers of right sides.
constexpr FactorGpuShape factor_large_shape(FactorGpuShape s) {
  s.n = 0, s.nrhs = factor_gpu_has_b(s) ? 1 : 0;
  s.a_pieces = s.b_pieces = FactorGpuPieces::elements;
  return s;
}

constexpr bool factor_large_factors(const FactorGpuShape& s) {
  return s.method != FactorGpuMethod::none || s.checks_diagonal;
}
// Returns the shape of the kernel that factors or copies.
constexpr FactorGpuShape factor_large_first(const FactorGpuShape& s) {
  FactorGpuShape first;
  first.n = 0;
  first.method = s.method, first.half = s.half && s.checks_diagonal, first.exchanges = s.exchanges;
  first.writes_a = s.writes_a, first.writes_det = s.writes_det, first.checks_diagonal = s.checks_diagonal;
  first.a_by_rows = s.a_by_rows, first.a_place = s.a_place;
  return first;
}
// Returns the shape of the kernel that solves; the factors lie by columns if another kernel made them.
constexpr FactorGpuShape factor_large_second(FactorGpuShape s) {
  s = factor_large_shape(s);
  if (!factor_large_factors(s)) return s;
  s.method = FactorGpuMethod::none, s.checks_diagonal = false;
  s.a_by_rows = false, s.a_place = FactorGpuPlace::strided;
  return s;
}

// Configs that were the fastest, or nearly, on an H200 (results/h200/factor_large-20261201-sweep).
constexpr FactorLargeConfig factor_large_usual(const FactorGpuShape& s, int order, int element_bytes) {
  const bool is_wide = element_bytes > 4;  // f64 and complex numbers
  if (element_bytes > 8 && order > 64) {   // registers for no larger tile of c128
    const int threads = order <= 128 ? 128 : 256;
    return {.threads = threads, .panel = order <= 256 ? 32 : 16, .rows = 4, .cols = 2};
  }
  if (s.method == FactorGpuMethod::cholesky) {
    if (is_wide) {
      if (order <= 64) return {.threads = 64, .panel = 16, .rows = 4, .cols = 2};
      if (order <= 128) return {.threads = 128, .panel = 32, .rows = 4, .cols = 4};
      if (order <= 256) return {.threads = 256, .panel = 32, .rows = 8, .cols = 2};
      return {.threads = 512, .panel = 32, .rows = 8, .cols = 4};
    }
    if (order <= 48) return {.threads = 64, .panel = 24, .rows = 4, .cols = 2};
    if (order <= 896) {
      const int threads = order <= 512 ? 128 : 256;
      return {.threads = threads, .panel = 32, .rows = 4, .cols = order <= 128 ? 2 : order <= 256 ? 4 : 8};
    }
    return {.threads = 512, .panel = 32, .rows = 8, .cols = 4};
  }
  const int shared_order = is_wide ? 48 : 64;
  if (order <= shared_order) return {.threads = 64, .panel = 32, .rows = 4, .cols = 2, .shared = true};
  if (is_wide) {
    if (order <= 128) return {.threads = order <= 64 ? 64 : 128, .panel = 32, .rows = 8, .cols = 2};
    if (order <= 256) return {.threads = 256, .panel = 32, .rows = 4, .cols = 4};
    return {.threads = 512, .panel = 32, .rows = 8, .cols = 2};
  }
  if (order <= 512) return {.threads = order <= 256 ? 128 : 256, .panel = 32, .rows = 4, .cols = 2};
  return {.threads = 512, .panel = 32, .rows = 8, .cols = 4};
}

// Returns the config for matrices of m x n; threads is 0 if not even a narrow panel fits the shared memory.
constexpr FactorLargeConfig factor_large_config(const FactorGpuShape& s, int m, int n, int element_bytes,
                                                const FactorLargeRoom& room = {}) {
  FactorLargeConfig c = factor_large_usual(s, m > n ? m : n, element_bytes);
  const auto fits = [&] {
    const long long least = static_cast<long long>(m) * (c.shared ? n : c.panel) * element_bytes;
    return least < room.shared_bytes_per_block &&
           factor_large_memory(s, c, m, n, element_bytes).total <= room.shared_bytes_per_block;
  };
  while (c.panel > factor_large_inner && !fits()) c.panel -= factor_large_inner;
  while (c.panel > 1 && !fits()) c.panel /= 2;
  if (!fits()) c.threads = 0;
  return c;
}

// Likewise of a solve with n x n triangles.
constexpr FactorLargeSolveConfig factor_large_solve_config(const FactorGpuShape& s, int n, int nrhs,
                                                           int element_bytes,
                                                           const FactorLargeRoom& room = {}) {
  constexpr int many_rows = 192;
  const bool is_long = n > many_rows, by_tensor_cores = element_bytes == 8;
  FactorLargeSolveConfig c{.threads = is_long && (by_tensor_cores || nrhs <= 4) ? 256 : 128, .sides = 1};
  // Panels of 32 right sides if they have no more empty columns than those of 16.
  const bool is_even = (nrhs + 15) / 16 % 2 == 0;
  const int most = by_tensor_cores && is_even && n <= 2 * many_rows ? 32 : 16;
  while (c.sides < most && c.sides < nrhs) c.sides *= 2;
  const auto fits = [&] {
    return static_cast<long long>(n) * c.sides * element_bytes < room.shared_bytes_per_block &&
           factor_large_solve_memory(c, s.exchanges, n, element_bytes).total <= room.shared_bytes_per_block;
  };
  while (c.sides > 1 && !fits()) c.sides /= 2;
  if (!fits()) c.threads = 0;
  return c;
}

}  // namespace tilewright
