// The kernels of factorizations and solves that give each matrix, or each panel of its right sides, a block
// of threads: their configs, their places in shared memory and their launch arguments. The sizes are
// arguments; the shape (factor_gpu/config.hpp) has n = 0, and nrhs = 1 for any number. For the host compiler
// and NVRTC.
#pragma once

#include "kernel/factor_gpu/config.hpp"

namespace tilewright {

struct FactorLargeConfig {
  int threads = 256;  // of a block
  int panel = 16;     // columns that are factored before the others are updated, at most 32
  int rows = 4;       // of an update's tile in the registers of a thread
  int cols = 4;
  bool shared = false;  // the whole matrix lies in shared memory, not only a panel

  friend constexpr bool operator==(const FactorLargeConfig&, const FactorLargeConfig&) = default;
};

struct FactorLargeSolveConfig {
  int threads = 128;
  int sides = 32;  // right sides of a block; a multiple of its warps

  friend constexpr bool operator==(const FactorLargeSolveConfig&, const FactorLargeSolveConfig&) = default;
};

inline constexpr int factor_large_inner = 8;   // columns of a panel that are eliminated one by one
inline constexpr int factor_large_block = 32;  // rows of a triangle that are solved before others are updated
inline constexpr int factor_large_solved_rows = 2;  // of a solve's tile in the registers of a thread
inline constexpr int factor_large_lanes = 16;       // threads side by side along a line

// Distances of columns in shared memory, which avoid bank conflicts: odd, or so that tensor cores' operands
// of f64, four columns of four rows, lie in all banks.
constexpr int factor_large_pitch(int rows, int element_bytes) {
  return element_bytes == 8 ? (rows + 3) / 8 * 8 + 4 : rows | 1;
}
// Columns of an update's strip.
constexpr int factor_large_strip(const FactorLargeConfig& c, bool by_rows) {
  return by_rows ? factor_large_lanes * c.cols : c.threads / factor_large_lanes * c.cols;
}

// Places of a factorization of m x n matrices in shared memory, in bytes: the matrix or a panel, then the
// rows of U and those that change places with them, then what the threads tell each other of pivots.
struct FactorLargeMemory {
  int pitch = 0;  // elements
  int upper = 0, displaced = 0, bits = 0, numbers = 0, total = 0;
};
constexpr FactorLargeMemory factor_large_memory(const FactorGpuShape& s, const FactorLargeConfig& c, int m,
                                                int n, int element_bytes) {
  const bool pivots = s.method == FactorGpuMethod::lu, by_rows = s.writes_a && s.a_by_rows;
  const bool has_strips = !c.shared && (pivots || s.method == FactorGpuMethod::lu_without_pivots);
  const int steps = m < n ? m : n, panel = c.panel < steps ? c.panel : steps;
  const int held = s.method == FactorGpuMethod::none ? 0 : c.shared ? n : panel, warps = c.threads / 32;
  const int strip =
      has_strips ? c.panel * factor_large_pitch(factor_large_strip(c, by_rows), element_bytes) : 0;
  FactorLargeMemory memory;
  memory.pitch = factor_large_pitch(m, element_bytes);
  memory.upper = factor_gpu_up(memory.pitch * held * element_bytes, 16);
  memory.displaced = memory.upper + factor_gpu_up(strip * element_bytes, 16);
  memory.bits = memory.displaced + (pivots ? factor_gpu_up(strip * element_bytes, 16) : 0);
  const int words = 2 * warps > c.panel ? 2 * warps : c.panel;
  memory.numbers = memory.bits + words * int(sizeof(long long));
  memory.total = factor_gpu_up(memory.numbers + (2 * warps + 3 * c.panel) * int(sizeof(int)), 16);
  return memory;
}

// The same of a solve: the right sides, a block of the triangle, a tile of the rows behind it, and the order
// of rows.
struct FactorLargeSolveMemory {
  int pitch = 0;  // of right sides, elements
  int triangle = 0, tile = 0, order = 0, total = 0;
};
constexpr int factor_large_tile_pitch(int element_bytes) {
  return factor_large_pitch(32 * factor_large_solved_rows, element_bytes);
}
constexpr FactorLargeSolveMemory factor_large_solve_memory(const FactorLargeSolveConfig& c, bool exchanges,
                                                           int n, int element_bytes) {
  FactorLargeSolveMemory memory;
  memory.pitch = factor_large_pitch(n, element_bytes);
  memory.triangle = factor_gpu_up(memory.pitch * c.sides * element_bytes, 16);
  memory.tile =
      memory.triangle + factor_gpu_up(factor_large_block * (factor_large_block + 1) * element_bytes, 16);
  memory.order =
      memory.tile +
      factor_gpu_up(factor_large_block * factor_large_tile_pitch(element_bytes) * element_bytes, 16);
  memory.total = factor_gpu_up(memory.order + (exchanges ? 2 * n : 0) * int(sizeof(int)), 16);
  return memory;
}

// A is read; where the factors do not take its place they go to `factors`, by columns. Codes are the infos of
// all problems; null: nobody reads them.
template <class T>
struct alignas(16) FactorLargeArgs {
  T alpha;
  FactorGpuOperand<T> a, factors, b;
  long long count;
  int m, n, nrhs;
  int info_step;  // as of FactorGpuArgs
  T* det;
  int* pivots;
  int* info;
  int* codes;
};

#ifndef __CUDACC_RTC__
TILEWRIGHT_FIELDS(FactorLargeConfig, threads, panel, rows, cols, shared);
TILEWRIGHT_FIELDS(FactorLargeSolveConfig, threads, sides);
#endif

}  // namespace tilewright
