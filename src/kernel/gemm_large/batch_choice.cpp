// Chooses the configs of batches of large GEMM to try first: tiles that fit sides of 65 to 512, several
// blocks of which share a multiprocessor, by cost. docs/notebook.md says what was measured.
#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {
namespace {

using C = GemmLargeConfig;

// `blocks` fit a multiprocessor. `deep`: k of a stage of tensor products. `slower`: percent by which nn, tn
// and nt take longer than gemm_large_batch_cost says, as measured on an H200 (docs/notebook.md).
struct BatchTiling {
  int tile_m, tile_n, warp_m, warp_n, blocks;
  int deep = 16;
  int thread_m = 0, thread_n = 0;
  bool prefetch = false;
  std::array<int, 3> slower = {};
  GemmLargeProduct product = GemmLargeProduct::mma_16x8x8;
};

constexpr BatchTiling mma_tile(int tile_m, int tile_n, int warp_m, int warp_n, int blocks, int deep = 16,
                               std::array<int, 3> slower = {}) {
  return {tile_m, tile_n, warp_m, warp_n, blocks, deep, 0, 0, false, slower};
}
constexpr BatchTiling fma_tile(int tile_m, int tile_n, int warp_m, int warp_n, int blocks, int thread_m,
                               int thread_n, std::array<int, 3> slower = {}) {
  return {tile_m, tile_n, warp_m, warp_n, blocks, 0, thread_m, thread_n, false, slower};
}
constexpr BatchTiling shallow(BatchTiling t) {
  t.product = GemmLargeProduct::mma_16x8x4;
  return t;
}
constexpr BatchTiling ahead(BatchTiling t) {
  t.prefetch = true;
  return t;
}

std::span<const BatchTiling> batch_tilings(DType dtype, bool mma) {
  static constexpr BatchTiling tensor_real[] = {mma_tile(80, 80, 16, 80, 2, 16, {-5, -5, 0}),
                                                mma_tile(80, 80, 80, 16, 2, 16, {-5, -3, -1}),
                                                mma_tile(96, 96, 48, 48, 2, 16, {-5, 3, -2}),
                                                mma_tile(48, 96, 48, 32, 3, 16, {-5, -5, 0}),
                                                mma_tile(96, 48, 32, 48, 3, 16, {-5, -5, 0}),
                                                mma_tile(112, 112, 112, 16, 1, 16, {-5, 4, -7}),
                                                mma_tile(112, 112, 16, 112, 1, 16, {-1, 2, 0}),
                                                mma_tile(112, 64, 112, 16, 2, 16, {-3, 4, 0}),
                                                mma_tile(64, 112, 16, 112, 2, 16, {0, 1, 1}),
                                                ahead(mma_tile(64, 128, 32, 64, 2, 16, {-6, 2, -6})),
                                                ahead(mma_tile(128, 64, 64, 32, 2, 16, {-6, 0, -6})),
                                                mma_tile(32, 160, 16, 80, 3, 16, {-8, -4, -2}),
                                                mma_tile(160, 32, 80, 16, 3, 16, {-6, -5, 5}),
                                                mma_tile(64, 64, 32, 32, 3, 16, {-3, -3, -3}),
                                                mma_tile(32, 32, 16, 16, 4),
                                                mma_tile(32, 64, 16, 32, 4),
                                                mma_tile(64, 32, 32, 16, 4)};
  static constexpr BatchTiling tensor_complex[] = {
      mma_tile(40, 32, 40, 8, 4, 16, {2, 5, 13}),    mma_tile(32, 40, 8, 40, 4, 16, {2, 9, 14}),
      mma_tile(40, 40, 40, 8, 3, 16, {12, 12, 13}),  shallow(mma_tile(40, 40, 40, 8, 3, 16, {5, 14, 14})),
      mma_tile(40, 40, 8, 40, 3, 16, {7, 9, 12}),    mma_tile(104, 56, 104, 8, 1, 8, {0, 2, 2}),
      mma_tile(56, 104, 8, 104, 1, 8, {13, 18, 17}), mma_tile(72, 72, 24, 24, 1, 8, {-11, 1, -11}),
      mma_tile(32, 32, 16, 16, 4, 16, {0, 8, 5}),    mma_tile(48, 48, 24, 24, 3, 8, {-2, 14, 12}),
      mma_tile(32, 64, 16, 32, 3, 16, {1, 9, 9}),    mma_tile(32, 64, 32, 16, 3, 16, {5, 4, 7}),
      mma_tile(64, 32, 16, 32, 3, 16, {6, 12, 18}),  mma_tile(32, 80, 16, 40, 3, 16, {6, 20, 14}),
      mma_tile(64, 64, 32, 32, 2, 16, {5, 7, 16}),   mma_tile(64, 64, 16, 32, 1)};
  static constexpr BatchTiling plain_f32[] = {fma_tile(80, 80, 16, 80, 4, 4, 10, {0, 3, -2}),
                                              fma_tile(80, 80, 80, 40, 4, 10, 10),
                                              fma_tile(80, 40, 40, 40, 4, 10, 5),
                                              fma_tile(96, 96, 48, 48, 3, 6, 12),
                                              fma_tile(96, 96, 96, 24, 3, 12, 6),
                                              fma_tile(112, 112, 16, 112, 2, 4, 14, {-6, -8, -13}),
                                              fma_tile(200, 40, 40, 40, 3, 5, 10, {9, 15, 4}),
                                              fma_tile(40, 200, 40, 40, 3, 5, 10, {9, 10, 4}),
                                              fma_tile(160, 80, 80, 40, 3, 10, 10, {-8, 0, -5}),
                                              fma_tile(160, 80, 80, 40, 2, 10, 10),
                                              fma_tile(64, 64, 32, 32, 4, 4, 8, {-1, 8, -3}),
                                              fma_tile(64, 128, 32, 64, 3, 8, 8, {0, 15, -8}),
                                              fma_tile(128, 64, 32, 64, 3, 8, 8, {1, 15, -8}),
                                              fma_tile(128, 64, 64, 32, 3, 8, 8, {1, 15, -8}),
                                              fma_tile(72, 72, 24, 72, 4, 6, 9, {-5, -8, -8}),
                                              fma_tile(32, 32, 16, 16, 4, 4, 2)};
  static constexpr BatchTiling plain_wide[] = {
      fma_tile(64, 64, 32, 32, 2, 8, 4),  fma_tile(64, 64, 32, 16, 2, 4, 4),
      fma_tile(40, 40, 40, 40, 2, 10, 5), fma_tile(48, 48, 24, 48, 2, 6, 6),
      fma_tile(80, 80, 16, 80, 1, 4, 10), fma_tile(32, 32, 16, 16, 3, 4, 2)};
  if (mma) return dtype == DType::c128 ? std::span<const BatchTiling>(tensor_complex) : tensor_real;
  return dtype == DType::f32 ? std::span<const BatchTiling>(plain_f32) : plain_wide;
}

// Returns the threads along the contiguous dimension that read a tile exactly, as many as can; 0 if none do.
int reading_threads(const GemmLargeTile& tile, const C& c) {
  constexpr int most = 128;  // of the space
  for (int threads = std::min(most, gemm_large_workers(c)); threads > 0; --threads)
    if (gemm_large_workers(c) % threads == 0 && gemm_large_reads_all(tile, c, threads)) return threads;
  return 0;
}

// Returns the config with as many stages as `blocks` blocks have room for, and all accesses arranged.
// Problems with values of their own leave registers for fewer blocks.
C fitted(C c, int blocks, const GemmProblem& p, const GemmLargeShape& s, const GpuLimits& limits) {
  constexpr int most_stages = 4, most_stages_of_one = 6;
  const int bytes = int(size_bytes(p.dtype));
  c.blocks_per_sm = blocks;
  if (s.batch == GemmLargeBatch::listed)
    while (c.blocks_per_sm > 1 && gemm_large_known_to_spill(c, s, p.dtype, limits)) --c.blocks_per_sm;
  blocks = c.blocks_per_sm;
  if (c.load == GemmLargeLoad::registers) {
    c.stages = 2;
  } else {
    c.stages = blocks == 1 && c.load == GemmLargeLoad::tensor ? most_stages_of_one : most_stages;
    const int room = limits.shared_bytes_per_multiprocessor / blocks - limits.shared_bytes_reserved;
    while (c.stages > 2 &&
           gemm_large_memory(s, c, bytes).total_bytes > std::min(room, limits.shared_bytes_per_block))
      --c.stages;
  }
  if (c.load == GemmLargeLoad::tensor) return c;
  while (c.load_bytes > 4 && !gemm_large_aligned_loads(s, c, p.dtype)) c.load_bytes /= 2;
  const auto arranged = [&](const GemmLargeTile& tile) {
    return gemm_large_reads_all(tile, c, 0) ? 0 : reading_threads(tile, c);
  };
  c.read_a = arranged(gemm_large_tile_a(s, c, bytes));
  c.read_b = arranged(gemm_large_tile_b(s, c, bytes));
  return c;
}

// Multiply-adds in the order of the source wait less for registers (docs/notebook.md).
void in_order(C& c) {
  c.ptxas_level = 1;
  c.k_unroll = 4;
}

// Returns the tile with the loads that the device has for it.
std::vector<C> with_loads(C c, const BatchTiling& t, const GemmProblem& p, const GemmLargeShape& s,
                          const GpuLimits& limits) {
  const bool mma = gemm_large_is_mma(c), rows = !s.trans_a && s.trans_b;
  std::vector<C> configs;
  if (limits.compute_capability >= 90 && s.batch == GemmLargeBatch::strided) {
    C tensor = c;
    tensor.load = GemmLargeLoad::tensor;
    tensor.layout = mma || !rows ? GemmLargeLayout::swizzle : GemmLargeLayout::plain;
    if (!mma && (is_complex(p.dtype) || (!rows && t.thread_m * t.thread_n >= 64))) in_order(tensor);
    tensor.tile_k = mma ? t.deep : rows ? 16 : gemm_large_row / int(size_bytes(p.dtype));
    // A block that is alone on its multiprocessor walks, and a warp of its own fetches the next tile, where
    // the registers were seen to suffice.
    const bool spills = s.reads_c || (s.trans_a && p.dtype == DType::f64);
    tensor.persistent = mma && t.blocks == 1 && !spills;
    tensor.specialised = tensor.persistent && gemm_large_warps(tensor) < 8;
    configs.push_back(fitted(tensor, t.blocks, p, s, limits));
  }
  c.boundary = GemmLargeBoundary::residue;
  c.layout = mma ? GemmLargeLayout::swizzle : GemmLargeLayout::padding;
  for (const GemmLargeLoad load : {GemmLargeLoad::async, GemmLargeLoad::registers})
    for (const int tile_k : {mma ? t.deep : 16, 8}) {
      if (load == GemmLargeLoad::async ? limits.compute_capability < 80 : mma) continue;
      if (mma && tile_k != t.deep) continue;
      c.load = load;
      c.tile_k = tile_k;
      if (is_complex(p.dtype) && !mma) in_order(c);
      configs.push_back(fitted(c, t.blocks, p, s, limits));
    }
  return configs;
}

}  // namespace

std::vector<GemmLargeConfig> gemm_large_batch_promising(const GemmProblem& p, const GemmLargeShape& s,
                                                        const GemmLargeDevice& device, std::size_t count) {
  const bool wide = p.dtype == DType::f64 || p.dtype == DType::c128;
  const bool mma = wide && device.compute_capability >= 80;
  const Space<C> space = gemm_large_accurate_space(p, s, device);
  std::vector<std::pair<double, C>> ranked;
  for (const BatchTiling& t : batch_tilings(p.dtype, mma)) {
    C c;
    std::tie(c.tile_m, c.tile_n, c.warp_m, c.warp_n) = std::tuple(t.tile_m, t.tile_n, t.warp_m, t.warp_n);
    std::tie(c.thread_m, c.thread_n, c.prefetch) = std::tuple(t.thread_m, t.thread_n, t.prefetch);
    c.product = !mma                             ? GemmLargeProduct::fma
                : device.compute_capability < 90 ? GemmLargeProduct::mma_8x8x4
                                                 : t.product;
    c.dependent_launch = device.compute_capability >= 90;
    for (C way : with_loads(c, t, p, s, device)) {
      if (s.batch == GemmLargeBatch::listed && gemm_large_known_to_spill(way, s, p.dtype, device)) continue;
      way.sum_turns = gemm_large_sum_turns(p, way, device);
      const double slower = 1 + 0.01 * t.slower[s.trans_b ? 2 : s.trans_a ? 1 : 0];
      if (space.contains(way)) ranked.emplace_back(slower * gemm_large_cost(p, s, way, device).cycles(), way);
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<C> configs;
  for (const auto& [cost, c] : ranked)
    if (configs.size() < count) configs.push_back(c);
  return configs;
}

}  // namespace tilewright
