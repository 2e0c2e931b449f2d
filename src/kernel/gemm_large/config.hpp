// The config of large GEMM on the GPU, the shape it is compiled for, and what follows from them: thread
// counts, shared memory, lanes and fragments. For the host compiler and NVRTC; holds no device code.
#pragma once

#ifndef __CUDACC_RTC__
#include "core/fields.hpp"
#endif

namespace tilewright {

// The multiplying unit: multiply-adds of the plain pipes, or FP64 tensor cores by their m x n x k.
enum class GemmLargeProduct : unsigned char { fma, mma_8x8x4, mma_16x8x4, mma_16x8x8, mma_16x8x16 };
// The load path of tiles. plain and read_only: loaded and stored at once (Anzt 2015); registers: loaded
// early, stored after the product (P2's prefetch); async: cp.async; tensor: bulk copies by the copy engine,
// which fills with zeros beyond the edge.
enum class GemmLargeLoad : unsigned char { plain, read_only, registers, async, tensor };
// The layout of a tile in shared memory: plain, with 16 bytes between rows, or with the 16-byte chunks of
// 128-byte rows permuted by the copy engine. In the first two the fma product has rows side by side; swizzled
// tiles keep the contiguous dimension, and lanes read several k at once.
enum class GemmLargeLayout : unsigned char { plain, padding, swizzle };
// predicate: every copy checks; residue: tiles and k ranges that stick out check; none: sizes are multiples
// of the tile, or the copy engine fills; residue_kernel: none for whole tiles, and a checking kernel for the
// rest; zero_padding: none, on copies of A and B that every launch makes, padded to whole tiles or, with
// tensor copies, made of unaligned operands only.
enum class GemmLargeBoundary : unsigned char { predicate, residue, none, residue_kernel, zero_padding };
// The dimension of A and B that is contiguous for the product: as in the caller's matrices, or rows (m and n)
// or k of both, for which other operands are copied first.
enum class GemmLargeContiguous : unsigned char { as_stored, rows, k };
// Precision of products and sums.
enum class GemmLargeMath : unsigned char { full };
// A launch computes one product, or a batch: its matrices lie at even distances, or their addresses in arrays
// in device memory, or problems have values of their own there (list_config.hpp).
enum class GemmLargeBatch : unsigned char { none, strided, pointers, listed };

// The parts of the problem that enter the code.
struct GemmLargeShape {
  bool trans_a = false;
  bool trans_b = false;
  bool conj_a = false;
  bool conj_b = false;
  bool reads_c = false;  // beta is not zero
  int align_a = 16;      // multiple of address and leading dimension in bytes (element size to 16)
  int align_b = 16;
  int align_c = 16;
  GemmLargeMath math = GemmLargeMath::full;
  GemmLargeBatch batch = GemmLargeBatch::none;

  friend constexpr bool operator==(const GemmLargeShape&, const GemmLargeShape&) = default;
};

// Sizes count elements (of a complex type: complex numbers).
struct GemmLargeConfig {
  int tile_m = 128;
  int tile_n = 128;
  int tile_k = 16;
  int warp_m = 32;  // part of the tile that one warp computes
  int warp_n = 64;
  int warps_k = 1;   // groups of warps that share the tile, each with a part of every stage's k
  int thread_m = 0;  // part of it that one thread computes; 0 for mma, whose shape decides
  int thread_n = 0;
  GemmLargeProduct product = GemmLargeProduct::mma_16x8x4;
  int k_unroll = 0;  // unrolled steps of a stage, 0 = all; with prefetch 2 = a loop of pairs
  GemmLargeLoad load = GemmLargeLoad::tensor;
  int load_bytes = 16;  // of one access to global memory
  int read_a = 0;  // threads side by side along A's contiguous dimension when reading; 0 = as many as fit
  int read_b = 0;
  bool interleave = true;  // accesses to A and B alternate; else first A, then B
  int stages = 4;
  int slack = 0;          // stages that are not refilled at once, so that warps may drift apart (tensor)
  int shared_bytes = 16;  // of one read from shared memory (fma)
  int store_bytes = 16;   // of one access to C, if its alignment and the thread's neighbours allow it
  bool prefetch = false;  // the next step's operands are read while this one's are multiplied
  GemmLargeLayout layout = GemmLargeLayout::swizzle;
  int raster = 8;    // tiles are walked in panels of this many columns of tiles; 1 = column by column
  int split_k = 1;   // blocks that share each tile
  int stream_k = 0;  // waves of tiles that all blocks share by k ranges; 0 = none
  int tail_k = 1;    // blocks that share each tile of the last, partial wave
  GemmLargeBoundary boundary = GemmLargeBoundary::none;
  GemmLargeContiguous contiguous = GemmLargeContiguous::as_stored;
  bool specialised = false;  // one more warp feeds the copy engine
  bool persistent = false;   // as many blocks as fit the device, each walking over tiles
  int blocks_per_sm = 1;     // registers are limited so that this many blocks fit
  int stagger = 0;           // thousands (1024) of clocks between the starts of a multiprocessor's blocks
  int carveout = -1;         // percent of L1 given to shared memory; -1 = the driver's choice
  int cluster = 1;           // blocks side by side along n that fetch A's tiles together (tensor)
  // Blocks start before the preceding kernel of the stream has ended (programmatic dependent launch), and
  // wait for its end before they access global memory.
  bool dependent_launch = false;
  // Sums set aside lie in shared memory instead of registers. Declared here, in alignment padding: a longer
  // struct is other machine code, for which no record would hold.
  bool sums_in_shared = false;
  // The assembler's optimisation level: 3 reorders multiply-adds, 1 keeps the source's order, which suits the
  // register banks.
  int ptxas_level = 3;
  int sum_turns = 0;  // tiles of k after which sums are set aside and restart; 0 = never

  friend constexpr bool operator==(const GemmLargeConfig&, const GemmLargeConfig&) = default;
};

// An opaque tensor map of the driver.
struct alignas(64) GemmLargeMap {
  unsigned long long words[16];
};

// Launch arguments. Leading dimensions count elements. Maps are read with load = tensor only, those of odd
// columns if columns have two maps; workspace and counters only if blocks share tiles. Counters are zero
// before and after a launch. Of a batch, a, b and c are its first matrices, or arrays of `problems`
// addresses.
template <class T>
struct GemmLargeArgs {
  GemmLargeMap map_a, map_b;
  T alpha, beta;  // here, so that the alignment of host and device complex numbers makes no difference
  const T* a;
  const T* b;
  T* c;
  long long lda, ldb, ldc;
  long long m, n, k;
  void* workspace;
  unsigned* counters;
  GemmLargeMap odd_a, odd_b;
  long long stride_a, stride_b, stride_c;  // elements from one matrix of a strided batch to the next
  int problems;
};

// An operand that a launch copies to `to` with leading dimension `to_rows` and zeros beyond `from`. Rows run
// along the contiguous dimension; transposed: rows of `to` are columns of `from`.
template <class T>
struct GemmLargePadOperand {
  const T* from;
  T* to;  // at a multiple of 16 bytes
  long long ld, rows, columns;
  long long to_rows, to_columns;  // to_rows elements are a multiple of 16 bytes
  bool transposed;
};
template <class T>
struct GemmLargePadArgs {
  GemmLargePadOperand<T> a, b;
  int blocks_a;  // of the grid: those that copy A
};
constexpr int gemm_large_pad_threads = 256;

constexpr int gemm_large_lanes = 32;
constexpr int gemm_large_chunk = 16;   // bytes
constexpr int gemm_large_row = 128;    // bytes of a swizzled row
constexpr int gemm_large_k_group = 8;  // k of one fragment of the mma products

constexpr bool gemm_large_is_mma(GemmLargeConfig c) { return c.product != GemmLargeProduct::fma; }
constexpr int gemm_large_mma_k(GemmLargeConfig c) {
  return c.product == GemmLargeProduct::mma_16x8x16 ? 16 : c.product == GemmLargeProduct::mma_16x8x8 ? 8 : 4;
}
constexpr int gemm_large_tile_warps(GemmLargeConfig c) {
  return (c.tile_m / c.warp_m) * (c.tile_n / c.warp_n);
}
constexpr int gemm_large_warps(GemmLargeConfig c) { return gemm_large_tile_warps(c) * c.warps_k; }
// Threads that multiply, those that have the whole sums in the end, and all threads of a block.
constexpr int gemm_large_workers(GemmLargeConfig c) { return gemm_large_warps(c) * gemm_large_lanes; }
constexpr int gemm_large_writers(GemmLargeConfig c) { return gemm_large_tile_warps(c) * gemm_large_lanes; }
constexpr int gemm_large_threads(GemmLargeConfig c) {
  return gemm_large_workers(c) + (c.specialised ? gemm_large_lanes : 0);
}
// k of one step: read from shared memory together, then multiplied.
constexpr int gemm_large_step(GemmLargeConfig c, int element_bytes) {
  if (!gemm_large_is_mma(c))
    return c.layout == GemmLargeLayout::swizzle ? gemm_large_chunk / element_bytes : 1;
  return gemm_large_mma_k(c) > gemm_large_k_group ? gemm_large_mma_k(c) : gemm_large_k_group;
}
// Steps of one warp in a stage.
constexpr int gemm_large_steps(GemmLargeConfig c, int element_bytes) {
  return c.tile_k / c.warps_k / gemm_large_step(c, element_bytes);
}
// A warp's place in the block's tile: first row, column and k of a stage.
struct GemmLargeWarpPlace {
  int row, column, k;
};
constexpr GemmLargeWarpPlace gemm_large_warp_place(GemmLargeConfig c, int thread) {
  const int warp = thread / gemm_large_lanes, down = c.tile_m / c.warp_m, across = warp / down;
  if (c.warps_k == 1) return {warp % down * c.warp_m, across * c.warp_n, 0};
  const int side = c.tile_n / c.warp_n;
  return {warp % down * c.warp_m, across % side * c.warp_n, across / side * (c.tile_k / c.warps_k)};
}

// Tensor maps that the columns of an operand alternate between. The copy engine needs starts at multiples of
// 16 bytes. If columns of f64 do not all start there, every other one has the same offset: it is loaded with
// that lead, which remains before its elements in shared memory.
constexpr int gemm_large_maps(GemmLargeConfig c, int align) {
  return c.load == GemmLargeLoad::tensor && align < gemm_large_chunk ? gemm_large_chunk / align : 1;
}
// Elements of the lead: from the multiple of 16 bytes where a map begins to its first column, `turn`.
constexpr int gemm_large_lead(unsigned long long address, long long ld, int turn, int element_bytes) {
  const auto elements =
      address / static_cast<unsigned>(element_bytes) + static_cast<unsigned long long>(turn * ld);
  return static_cast<int>(elements % static_cast<unsigned>(gemm_large_chunk / element_bytes));
}

// One operand's tile in shared memory: `rows` of op(X) along m or n, `depth` along k. along_k: k runs
// fastest. With several maps, each map's columns are contiguous, with room for their lead.
struct GemmLargeTile {
  int rows = 0;
  int depth = 0;
  bool along_k = false;         // in shared memory
  bool source_along_k = false;  // in global memory; if the two differ the copy transposes
  GemmLargeLayout layout = GemmLargeLayout::plain;
  int element_bytes = 0;
  int maps = 1;

  constexpr int inner() const { return along_k ? depth : rows; }
  constexpr int outer() const { return along_k ? rows : depth; }
  constexpr int pitch() const {
    return inner() * element_bytes + (layout == GemmLargeLayout::padding ? gemm_large_chunk : 0);
  }
  constexpr int bytes() const { return outer() * pitch(); }
  constexpr int map_columns() const { return outer() / maps; }
  // Returns the place of element (x, k) of op(X), without a lead.
  constexpr int offset(int x, int k) const {
    const int in = (along_k ? k : x) * element_bytes, column = along_k ? x : k;
    const int out = maps == 1 ? column : column % maps * map_columns() + column / maps;
    if (layout != GemmLargeLayout::swizzle) return out * pitch() + in;
    const int chunk = in % gemm_large_row / gemm_large_chunk;
    return (in / gemm_large_row * outer() + out) * gemm_large_row + ((chunk ^ (out & 7)) * gemm_large_chunk) +
           in % gemm_large_chunk;
  }
};

// True if an operand's contiguous dimension is the same in shared and global memory.
constexpr bool gemm_large_as_stored(GemmLargeConfig c) {
  return gemm_large_is_mma(c) || c.layout == GemmLargeLayout::swizzle;
}
constexpr GemmLargeTile gemm_large_tile_a(GemmLargeShape s, GemmLargeConfig c, int element_bytes) {
  return {c.tile_m, c.tile_k,      gemm_large_as_stored(c) && s.trans_a, s.trans_a,
          c.layout, element_bytes, gemm_large_maps(c, s.align_a)};
}
constexpr GemmLargeTile gemm_large_tile_b(GemmLargeShape s, GemmLargeConfig c, int element_bytes) {
  return {c.tile_n, c.tile_k,      gemm_large_as_stored(c) && !s.trans_b, !s.trans_b,
          c.layout, element_bytes, gemm_large_maps(c, s.align_b)};
}

// Panels of 128-byte rows of a tile that the copy engine writes. The blocks of a cluster fetch equally many
// panels or, if there are too few, rows of each.
constexpr int gemm_large_panels(GemmLargeTile tile) {
  return tile.layout == GemmLargeLayout::swizzle ? tile.inner() * tile.element_bytes / gemm_large_row : 1;
}
constexpr bool gemm_large_splits_rows(GemmLargeTile tile, GemmLargeConfig c) {
  return gemm_large_panels(tile) % c.cluster != 0;
}

// Byte offsets in a block's shared memory: stages of A and B alternating, barriers, a shared word, sums.
struct GemmLargeMemory {
  int a_bytes = 0;  // of one stage; B follows A
  int stage_bytes = 0;
  int barrier_offset = 0;
  int sums_offset = 0;
  int total_bytes = 0;
};
constexpr int gemm_large_aligned(int bytes) { return (bytes + 1023) / 1024 * 1024; }
constexpr GemmLargeMemory gemm_large_memory(GemmLargeShape s, GemmLargeConfig c, int element_bytes) {
  GemmLargeMemory memory;
  // The copy engine's swizzle counts from multiples of 1024 bytes.
  const int a = gemm_large_tile_a(s, c, element_bytes).bytes(),
            b = gemm_large_tile_b(s, c, element_bytes).bytes();
  const bool swizzled = c.layout == GemmLargeLayout::swizzle;
  memory.a_bytes = swizzled ? gemm_large_aligned(a) : (a + 127) / 128 * 128;
  memory.stage_bytes = memory.a_bytes + (swizzled ? gemm_large_aligned(b) : (b + 127) / 128 * 128);
  memory.barrier_offset = memory.stage_bytes * c.stages;
  memory.sums_offset = memory.barrier_offset + 16 * c.stages + 16;
  memory.total_bytes = memory.sums_offset;
  if (c.sums_in_shared) memory.total_bytes += c.tile_m * c.tile_n * c.warps_k * element_bytes;
  return memory;
}

// The reads of one operand's tile by a block's threads: chunks of `vector` elements, `threads_inner` threads
// along the contiguous dimension in global memory.
struct GemmLargeReading {
  int vector = 1;
  int threads_inner = 1;
  int threads_outer = 1;
  int inner_count = 1;  // accesses of one thread
  int outer_count = 1;

  constexpr int accesses() const { return inner_count * outer_count; }
};
constexpr GemmLargeReading gemm_large_reading(GemmLargeTile tile, GemmLargeConfig c, int wanted_threads) {
  GemmLargeReading reading;
  const int inner = tile.source_along_k ? tile.depth : tile.rows;
  const int outer = tile.source_along_k ? tile.rows : tile.depth;
  const bool transposes = tile.source_along_k != tile.along_k;
  // cp.async moves neighbours to neighbours, so a transposing one moves single elements.
  const bool single = transposes && c.load == GemmLargeLoad::async;
  reading.vector = single || c.load_bytes < tile.element_bytes ? 1 : c.load_bytes / tile.element_bytes;
  const int threads = gemm_large_workers(c), pieces = inner / reading.vector;
  reading.threads_inner = wanted_threads > 0 ? wanted_threads : (pieces < threads ? pieces : threads);
  reading.threads_outer = threads / reading.threads_inner;
  reading.inner_count = pieces / reading.threads_inner;
  reading.outer_count = reading.threads_outer > 0 ? outer / reading.threads_outer : 0;
  return reading;
}
// True if the arrangement covers the tile exactly.
constexpr bool gemm_large_reads_all(GemmLargeTile tile, GemmLargeConfig c, int wanted_threads) {
  const GemmLargeReading r = gemm_large_reading(tile, c, wanted_threads);
  const int inner = tile.source_along_k ? tile.depth : tile.rows;
  const int outer = tile.source_along_k ? tile.rows : tile.depth;
  return r.threads_inner * r.threads_outer == gemm_large_workers(c) && inner % r.vector == 0 &&
         r.threads_inner * r.vector * r.inner_count == inner && r.threads_outer * r.outer_count == outer;
}

// A lane's place among a warp's threads of the fma product. Neighbouring lanes share rows, the next ones
// columns, so that 128-bit reads of shared memory serve two quarters of a warp at a time.
constexpr int gemm_large_lanes_n(GemmLargeConfig c) { return c.warp_n / c.thread_n; }
constexpr int gemm_large_lane_m(GemmLargeConfig c, int lane) {
  const int lanes_n = gemm_large_lanes_n(c);
  return lanes_n == gemm_large_lanes ? 0 : (lane & 1) | (lane / (2 * lanes_n) << 1);
}
constexpr int gemm_large_lane_n(GemmLargeConfig c, int lane) {
  const int lanes_n = gemm_large_lanes_n(c);
  return lanes_n == gemm_large_lanes ? lane : lane / 2 % lanes_n;
}
// Elements of one read from shared memory by the fma product, for an operand of `count` elements per thread.
constexpr int gemm_large_pack(GemmLargeConfig c, int count, int element_bytes) {
  int pack = c.shared_bytes > element_bytes ? c.shared_bytes / element_bytes : 1;
  while (count % pack != 0) pack /= 2;
  return pack;
}

// The reads of an operand by the fma product, with `count` rows per thread and `lanes` threads side by side:
// packs of rows of one k, or of k of one row. A lane's address is base + a constant, xor another.
struct GemmLargePacks {
  GemmLargeTile tile;
  int rows = 1;  // side by side in a pack
  int depth = 1;

  // Returns the thread's `i`th row, relative to its lane's first.
  constexpr int row(int i, int lanes) const { return i / rows * rows * lanes + i % rows; }
  constexpr bool swizzled() const { return tile.layout == GemmLargeLayout::swizzle; }
  constexpr int mask(int dx, int k) const {
    if (!swizzled()) return 0;
    const int chunk = (tile.along_k ? k : dx) * tile.element_bytes / gemm_large_chunk;
    return ((chunk ^ (tile.along_k ? dx : k)) & 7) * gemm_large_chunk;
  }
  constexpr int constant(int dx, int k) const {
    if (!swizzled()) return tile.offset(dx, k);
    const int in = (tile.along_k ? k : dx) * tile.element_bytes, out = tile.along_k ? dx : k;
    return (in / gemm_large_row * tile.outer() + out) * gemm_large_row;
  }
};
constexpr GemmLargePacks gemm_large_packs(GemmLargeConfig c, GemmLargeTile tile, int count) {
  GemmLargePacks packs{tile};
  if (tile.along_k)
    packs.depth = gemm_large_chunk / tile.element_bytes;
  else
    packs.rows = gemm_large_pack(c, count, tile.element_bytes);
  return packs;
}

// A read of an mma operand from shared memory: 16 bytes with two rows of one k or two k of one row, or
// (single) 8 bytes. Thus every register suits the instruction: A holds pairs of rows, B of mma_16x8x8 and
// wider pairs of k. A complex number is 16 bytes by itself.
enum class GemmLargeRead : unsigned char { row_pair, k_pair, single, number };

// An operand of the mma products: lane (g = lane / 4, t = lane % 4), half h, step s of a group of 8 k.
struct GemmLargeOperand {
  GemmLargeTile tile;
  GemmLargeRead read = GemmLargeRead::row_pair;
  bool late = false;  // k = t + 4 s; else k = 2 t + s

  constexpr int block() const { return read == GemmLargeRead::number ? 8 : 16; }  // rows
  constexpr bool by_turns() const { return tile.maps > 1; }
  constexpr int k_of(int t, int s) const { return late ? t + 4 * s : 2 * t + s; }
  // Permutes rows so that a quarter warp (16-byte reads) or half a warp touches all banks.
  constexpr int row_of(int g, int h) const {
    const int far = (g & 1) * 4 + (g >> 1), apart = 2 * ((g >> 1 & 1) * 4 + h * 2 + (g >> 2)) + (g & 1);
    if (read == GemmLargeRead::number) return g;
    if (read == GemmLargeRead::row_pair) return 2 * (late ? far : g) + h;
    if (read == GemmLargeRead::k_pair) return 8 * h + far;
    if (by_turns() && !late) return apart;
    if (by_turns()) return tile.along_k ? 4 * (g & 3) + 2 * (g >> 2) + h : 4 * (g & 3) + 2 * h + (g >> 2);
    if (tile.along_k) return 8 * h + 2 * (g & 3) + (g >> 2);
    return late ? apart : 8 * h + g;
  }
  // The address for (block i, group q, s, h) is the base of its variant for the lane plus a constant.
  constexpr int variants() const { return read == GemmLargeRead::single ? 4 : 2; }
  constexpr int variant(int q, int s, int h) const {
    if (read == GemmLargeRead::k_pair) return q % 2;
    if (read != GemmLargeRead::single) return s;
    return groups_alternate() ? q % 2 * 2 + s : s * 2 + h;
  }
  constexpr int base(int variant, int first_row, int g, int t) const {
    const auto [q, s, h] = of(variant);
    return tile.offset(first_row, 0) + tile.offset(row_of(g, h), 8 * q + k_of(t, s));
  }
  // Returns the map of the column of that read.
  constexpr int turn(int variant, int g, int t) const {
    const auto [q, s, h] = of(variant);
    return (tile.along_k ? row_of(g, h) : k_of(t, s)) % tile.maps;
  }
  constexpr int constant(int i, int q, int h) const {
    return groups_alternate() ? tile.offset(16 * i + 8 * h, q / 2 * 16) : tile.offset(block() * i, 8 * q);
  }

 private:
  struct Place {
    int q, s, h;
  };
  // True if two groups of 8 k alternate within one 128-byte row.
  constexpr bool groups_alternate() const {
    return tile.along_k && read != GemmLargeRead::number && !by_turns();
  }
  constexpr Place of(int variant) const {
    if (read == GemmLargeRead::k_pair) return {variant, 0, 0};
    if (read != GemmLargeRead::single) return {0, variant, 0};
    return groups_alternate() ? Place{variant / 2, variant % 2, 0} : Place{0, variant / 2, variant % 2};
  }
};
constexpr GemmLargeOperand gemm_large_operand_a(GemmLargeShape s, GemmLargeConfig c, int element_bytes) {
  const GemmLargeTile tile = gemm_large_tile_a(s, c, element_bytes);
  if (element_bytes == gemm_large_chunk) return {tile, GemmLargeRead::number, false};
  return {tile, tile.along_k || tile.maps > 1 ? GemmLargeRead::single : GemmLargeRead::row_pair,
          tile.along_k};
}
constexpr GemmLargeOperand gemm_large_operand_b(GemmLargeShape s, GemmLargeConfig c, int element_bytes) {
  const GemmLargeTile tile = gemm_large_tile_b(s, c, element_bytes);
  if (element_bytes == gemm_large_chunk) return {tile, GemmLargeRead::number, false};
  const bool late = s.trans_a;
  if (tile.maps > 1) return {tile, GemmLargeRead::single, late};
  if (tile.along_k) return {tile, late ? GemmLargeRead::single : GemmLargeRead::k_pair, late};
  return {tile, gemm_large_mma_k(c) == 4 ? GemmLargeRead::row_pair : GemmLargeRead::single, late};
}

#ifndef __CUDACC_RTC__
template <>
struct EnumNames<GemmLargeProduct> {
  static constexpr std::array value{std::pair{GemmLargeProduct::fma, "fma"},
                                    std::pair{GemmLargeProduct::mma_8x8x4, "mma_8x8x4"},
                                    std::pair{GemmLargeProduct::mma_16x8x4, "mma_16x8x4"},
                                    std::pair{GemmLargeProduct::mma_16x8x8, "mma_16x8x8"},
                                    std::pair{GemmLargeProduct::mma_16x8x16, "mma_16x8x16"}};
};
template <>
struct EnumNames<GemmLargeLoad> {
  static constexpr std::array value{
      std::pair{GemmLargeLoad::plain, "plain"}, std::pair{GemmLargeLoad::read_only, "read_only"},
      std::pair{GemmLargeLoad::registers, "registers"}, std::pair{GemmLargeLoad::async, "async"},
      std::pair{GemmLargeLoad::tensor, "tensor"}};
};
template <>
struct EnumNames<GemmLargeLayout> {
  static constexpr std::array value{std::pair{GemmLargeLayout::plain, "plain"},
                                    std::pair{GemmLargeLayout::padding, "padding"},
                                    std::pair{GemmLargeLayout::swizzle, "swizzle"}};
};
template <>
struct EnumNames<GemmLargeBoundary> {
  static constexpr std::array value{std::pair{GemmLargeBoundary::predicate, "predicate"},
                                    std::pair{GemmLargeBoundary::residue, "residue"},
                                    std::pair{GemmLargeBoundary::none, "none"},
                                    std::pair{GemmLargeBoundary::residue_kernel, "residue_kernel"},
                                    std::pair{GemmLargeBoundary::zero_padding, "zero_padding"}};
};
template <>
struct EnumNames<GemmLargeContiguous> {
  static constexpr std::array value{std::pair{GemmLargeContiguous::as_stored, "as_stored"},
                                    std::pair{GemmLargeContiguous::rows, "rows"},
                                    std::pair{GemmLargeContiguous::k, "k"}};
};
template <>
struct EnumNames<GemmLargeMath> {
  static constexpr std::array value{std::pair{GemmLargeMath::full, "full"}};
};
TILEWRIGHT_NAMES(GemmLargeBatch, "none", "strided", "pointers", "listed");

template <>
struct FieldList<GemmLargeShape> {
  using S = GemmLargeShape;
  static constexpr auto value =
      std::make_tuple(field("trans_a", &S::trans_a), field("trans_b", &S::trans_b),
                      field("conj_a", &S::conj_a), field("conj_b", &S::conj_b), field("reads_c", &S::reads_c),
                      field("align_a", &S::align_a), field("align_b", &S::align_b),
                      field("align_c", &S::align_c), field("math", &S::math), field("batch", &S::batch));
};
template <>
struct FieldList<GemmLargeConfig> {
  using C = GemmLargeConfig;
  static constexpr auto value = std::make_tuple(
      field("tile_m", &C::tile_m), field("tile_n", &C::tile_n), field("tile_k", &C::tile_k),
      field("warp_m", &C::warp_m), field("warp_n", &C::warp_n), field("warps_k", &C::warps_k),
      field("thread_m", &C::thread_m), field("thread_n", &C::thread_n), field("product", &C::product),
      field("k_unroll", &C::k_unroll), field("load", &C::load), field("load_bytes", &C::load_bytes),
      field("read_a", &C::read_a), field("read_b", &C::read_b), field("interleave", &C::interleave),
      field("stages", &C::stages), field("slack", &C::slack), field("shared_bytes", &C::shared_bytes),
      field("store_bytes", &C::store_bytes), field("prefetch", &C::prefetch), field("layout", &C::layout),
      field("raster", &C::raster), field("split_k", &C::split_k), field("stream_k", &C::stream_k),
      field("tail_k", &C::tail_k), field("boundary", &C::boundary), field("contiguous", &C::contiguous),
      field("specialised", &C::specialised), field("persistent", &C::persistent),
      field("blocks_per_sm", &C::blocks_per_sm), field("stagger", &C::stagger),
      field("carveout", &C::carveout), field("cluster", &C::cluster),
      field("dependent_launch", &C::dependent_launch), field("sums_in_shared", &C::sums_in_shared),
      field("ptxas_level", &C::ptxas_level), field("sum_turns", &C::sum_turns));
};
#endif

}  // namespace tilewright
