// The schedule of a large GEMM: tiles in raster order, k ranges of tiles that several blocks share (split_k,
// tail_k and stream-k), and the places of their partial sums. Pure integer functions for host and device.
#pragma once

#include "kernel/gemm_large/config.hpp"

namespace tilewright {

// Clusters are scheduled as blocks whose tiles are as wide as a cluster's.
constexpr GemmLargeConfig gemm_large_of_clusters(GemmLargeConfig c) {
  c.tile_n *= c.cluster;
  c.raster /= c.cluster;
  c.cluster = 1;
  return c;
}

// A k range of one tile, in tiles of k.
struct GemmLargeWork {
  int tile_m = 0;
  int tile_n = 0;
  int k_begin = 0;
  int k_end = 0;
  int part = 0;  // of `parts` that make up the tile, in the order of k
  int parts = 1;
  int tile = 0;         // in raster order; also its counter
  int first_block = 0;  // stream-k: the block of part 0
  int problem = 0;      // of a batch
};

// Sizes of a launch for the schedule.
struct GemmLargeGrid {
  int tiles_m = 0;
  int tiles_n = 0;
  int k_tiles = 0;  // at least 1, even if k = 0
  int blocks = 0;

  constexpr int tiles() const { return tiles_m * tiles_n; }
};
constexpr GemmLargeGrid gemm_large_grid(GemmLargeConfig c, long long m, long long n, long long k,
                                        int blocks) {
  const auto count = [](long long size, int tile) { return static_cast<int>((size + tile - 1) / tile); };
  return {count(m, c.tile_m), count(n, c.tile_n), k == 0 ? 1 : count(k, c.tile_k), blocks};
}

// Panels of `raster` columns of tiles, each walked row by row; with 1, columns from top to bottom.
constexpr void gemm_large_place(GemmLargeConfig c, GemmLargeGrid grid, int tile, GemmLargeWork& work) {
  // If a panel has more tiles than an int counts, there is only one; the device divides 32 bits quickly.
  const long long in_panel = static_cast<long long>(grid.tiles_m) * c.raster;
  const int panel_tiles = in_panel < 0x7fffffff ? static_cast<int>(in_panel) : 0x7fffffff;
  const int first = tile / panel_tiles * c.raster, rest = tile % panel_tiles;
  const int width = grid.tiles_n - first < c.raster ? grid.tiles_n - first : c.raster;
  work.tile = tile;
  work.tile_m = rest / width;
  work.tile_n = first + rest % width;
}

// Tiles at the end of the raster order that all blocks share.
constexpr int gemm_large_streamed(GemmLargeConfig c, GemmLargeGrid grid) {
  if (c.stream_k == 0) return 0;
  const int rest = grid.tiles() % grid.blocks + (c.stream_k - 1) * grid.blocks;
  return rest < grid.tiles() ? rest : grid.tiles();
}
// True if several blocks may share a tile; the other is true if a block may have several units.
constexpr bool gemm_large_shares(GemmLargeConfig c) {
  return c.split_k > 1 || c.stream_k > 0 || c.tail_k > 1;
}
constexpr bool gemm_large_walks(GemmLargeConfig c) { return c.persistent || c.stream_k > 0; }
// With tail_k: the last tiles, which blocks share, and the blocks of a launch if `slots` run at once.
constexpr int gemm_large_tail(GemmLargeConfig c, GemmLargeGrid grid) {
  return c.tail_k == 1 ? 0 : (grid.blocks - grid.tiles()) / (c.tail_k - 1);
}
constexpr long long gemm_large_tail_blocks(GemmLargeConfig c, long long tiles, int slots) {
  return tiles + tiles % slots * (c.tail_k - 1);
}
// Units of work in all: whole tiles, or their split_k or tail_k parts.
constexpr long long gemm_large_units(GemmLargeConfig c, GemmLargeGrid grid) {
  if (c.tail_k > 1) return grid.blocks;
  return static_cast<long long>(grid.tiles() - gemm_large_streamed(c, grid)) * c.split_k;
}

// The k tiles of all streamed tiles in one row, cut evenly among the blocks.
struct GemmLargeStream {
  long long total = 0;
  int blocks = 1;  // that take part: none has an empty range

  constexpr long long begin(int block) const { return total * block / blocks; }
  constexpr int block_of(long long position) const {
    int block = static_cast<int>(position * blocks / (total > 0 ? total : 1));
    while (block > 0 && begin(block) > position) --block;
    while (block + 1 < blocks && begin(block + 1) <= position) ++block;
    return block;
  }
};
constexpr GemmLargeStream gemm_large_stream(GemmLargeConfig c, GemmLargeGrid grid) {
  const long long total = static_cast<long long>(gemm_large_streamed(c, grid)) * grid.k_tiles;
  return {total, total < grid.blocks ? (total > 0 ? static_cast<int>(total) : 1) : grid.blocks};
}

// The most parts, or sums of groups of parts, that one block adds: they lie in L2, a latency apart.
constexpr int gemm_large_most_together = 16;
constexpr int gemm_large_group_size(int count) { return count > gemm_large_most_together ? 8 : count; }
// Counters of a tile of `parts` parts: one for each group of each level.
constexpr int gemm_large_counters(int parts) {
  int counters = 0;
  for (int count = parts; count > 1;) {
    const int size = gemm_large_group_size(count);
    count = (count + size - 1) / size;
    counters += count;
  }
  return counters;
}
// The most parts that a tile can have.
constexpr int gemm_large_most_parts(GemmLargeConfig c, GemmLargeGrid grid) {
  if (c.stream_k == 0) return c.split_k > c.tail_k ? c.split_k : c.tail_k;
  return grid.blocks < grid.k_tiles ? grid.blocks : grid.k_tiles;
}

// Slots of the workspace, each for the partial sums of one tile.
constexpr long long gemm_large_slots(GemmLargeConfig c, GemmLargeGrid grid) {
  if (c.stream_k > 0) return 2ll * gemm_large_stream(c, grid).blocks;
  if (c.tail_k > 1) return static_cast<long long>(gemm_large_tail(c, grid)) * c.tail_k;
  return c.split_k > 1 ? gemm_large_units(c, grid) : 0;
}
// Returns the slot of part `part` of the tile of `work`. A block's stream range has at most two partial
// tiles: one that began before it and one that it begins.
constexpr long long gemm_large_slot(GemmLargeConfig c, GemmLargeGrid grid, GemmLargeWork work, int part) {
  if (c.tail_k > 1)
    return static_cast<long long>(work.tile - (grid.tiles() - gemm_large_tail(c, grid))) * c.tail_k + part;
  if (c.stream_k == 0) return static_cast<long long>(work.tile) * c.split_k + part;
  const GemmLargeStream stream = gemm_large_stream(c, grid);
  const int block = work.first_block + part;
  const long long begin =
      static_cast<long long>(work.tile - (grid.tiles() - gemm_large_streamed(c, grid))) * grid.k_tiles;
  return 2ll * block + (stream.begin(block) < begin ? 1 : 0);
}

// Clocks that a block waits before its first product, since blocks of one multiprocessor that start together
// would all store at once. A launch's first blocks are dealt to all multiprocessors, then the second ones;
// later blocks start as others end.
constexpr int gemm_large_late_clocks(GemmLargeConfig c, int block, int multiprocessors) {
  const int place = block / multiprocessors;
  return place < c.blocks_per_sm ? place * c.stagger * 1024 : 0;
}

// Returns unit `index` of a block, whole tiles (or parts) before its share of the streamed ones; false beyond
// the last. Nothing is kept between units, so that a kernel holds only `index` through a product.
constexpr bool gemm_large_unit(GemmLargeConfig c, GemmLargeGrid grid, int block, int index,
                               GemmLargeWork& work) {
  const long long units = gemm_large_units(c, grid);
  const long long unit = block + static_cast<long long>(index) * grid.blocks;
  if (unit < units) {
    const int alone = c.tail_k > 1 ? grid.tiles() - gemm_large_tail(c, grid) : 0;
    if (c.tail_k > 1 && unit < alone) {
      gemm_large_place(c, grid, static_cast<int>(unit), work);
      work.part = 0;
      work.parts = 1;
    } else {
      const int parts = c.tail_k > 1 ? c.tail_k : c.split_k;
      gemm_large_place(c, grid, alone + static_cast<int>((unit - alone) / parts), work);
      work.part = static_cast<int>((unit - alone) % parts);
      work.parts = parts;
    }
    work.k_begin = static_cast<int>(static_cast<long long>(grid.k_tiles) * work.part / work.parts);
    work.k_end = static_cast<int>(static_cast<long long>(grid.k_tiles) * (work.part + 1) / work.parts);
    return true;
  }
  const GemmLargeStream stream = gemm_large_stream(c, grid);
  if (c.stream_k == 0 || block >= stream.blocks) return false;
  const int own = units > block ? static_cast<int>((units - block - 1) / grid.blocks) + 1 : 0;
  const long long first = stream.begin(block), stop = stream.begin(block + 1);
  const int piece = index - own;  // each but the first begins a tile
  const long long position = piece == 0 ? first : (first / grid.k_tiles + piece) * grid.k_tiles;
  if (position >= stop) return false;
  const int number = static_cast<int>(position / grid.k_tiles);
  const long long begin = static_cast<long long>(number) * grid.k_tiles, end = begin + grid.k_tiles;
  gemm_large_place(c, grid, static_cast<int>(units) + number, work);
  work.first_block = stream.block_of(begin);
  work.part = block - work.first_block;
  work.parts = stream.block_of(end - 1) - work.first_block + 1;
  work.k_begin = static_cast<int>(position - begin);
  work.k_end = static_cast<int>((stop < end ? stop : end) - begin);
  return true;
}

// The most tiles of a batch that one launch takes, so that a walk beyond the last of them is an int as well.
constexpr int gemm_large_most_batch_tiles = 1 << 30;
// Returns unit `index` of a block that computes whole tiles of a batch, those of a problem one after the
// other.
constexpr bool gemm_large_batch_unit(GemmLargeConfig c, GemmLargeGrid grid, int problems, int block,
                                     int index, GemmLargeWork& work) {
  const int unit = block + index * grid.blocks, tiles = grid.tiles();
  if (unit >= problems * tiles) return false;
  work.problem = unit / tiles;
  gemm_large_place(c, grid, unit % tiles, work);
  work.k_begin = 0;
  work.k_end = grid.k_tiles;
  return true;
}

}  // namespace tilewright
