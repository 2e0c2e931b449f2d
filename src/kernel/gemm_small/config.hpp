// The config of batched small GEMM on the GPU and the shape it is compiled for, with the shared memory and
// thread counts that follow. For the host compiler and NVRTC; holds no device code.
#pragma once

#ifndef __CUDACC_RTC__
#include "core/fields.hpp"
#endif

namespace tilewright {

// The load path of operands. direct: threads read global memory, read_only: through the read-only cache
// (Masliah 2016); async: all threads copy asynchronously into shared memory, any layout; bulk: one bulk copy
// per operand and tile, or per matrix of a pointer batch (into rings if sizes vary).
enum class GemmSmallLoad : unsigned char { direct, async, bulk, read_only };
// True if threads read A and B where they lie.
constexpr bool gemm_small_is_direct(GemmSmallLoad load) {
  return load == GemmSmallLoad::direct || load == GemmSmallLoad::read_only;
}
// The store path of C. direct: from registers; shared: through shared memory, written by all threads in
// order; bulk: through shared memory and bulk copies.
enum class GemmSmallStore : unsigned char { direct, shared, bulk };
// The placement of one operand's matrices. packed: at one compile-time distance, with gaps only below a
// matrix; broadcast: one matrix for all problems; strided: run-time leading dimension and distance; pointer:
// an array of addresses; interleaved: equal elements of more problems than a tile holds are neighbours
// (Dongarra 2017; smaller blocks are packed).
enum class GemmSmallStep : unsigned char { packed, broadcast, strided, pointer, interleaved };
// The time at which a tile's stages are loaded again if C is stored by bulk copies. late: one tile later,
// when the store has surely been read; at_once: after waiting for the store; spare: A and B at once, C into
// one additional stage.
enum class GemmSmallRefill : unsigned char { late, at_once, spare };

// The multiplying unit. fma: each thread by itself; mma_8x8x4, mma_16x8x4: a warp forms a tile of C by tensor
// cores (FP64, real and complex; the second on sm_90, at twice the rate).
enum class GemmSmallMultiply : unsigned char { fma, mma_8x8x4, mma_16x8x4 };

// Products summed into one C in registers. listed: consecutive ones of the same C; fixed: a launch's number.
enum class GemmSmallSums : unsigned char { none, listed, fixed };

// The parts of the problem that enter the code.
struct GemmSmallShape {
  int m = 1;
  int n = 1;
  int k = 1;  // 0 if alpha is zero
  bool trans_a = false;
  bool trans_b = false;
  bool conj_a = false;
  bool conj_b = false;
  bool reads_c = true;  // beta is not zero
  GemmSmallStep step_a = GemmSmallStep::packed;
  GemmSmallStep step_b = GemmSmallStep::packed;
  GemmSmallStep step_c = GemmSmallStep::packed;
  int lda = 0;  // 0: the rows if packed; a run-time value if strided or by pointer
  int ldb = 0;
  int ldc = 0;
  // Equal elements of this many problems are neighbours in packed operands. If interleaved, tiles hold a
  // divisor of it, so that none lies in two blocks; 0: there is one block.
  int interleave = 1;
  bool scalars_vary = false;  // each problem has its alpha and beta
  bool sizes_vary = false;  // likewise sizes and leading dimensions (pointers only); m, n, k are the largest
  int align_bytes = 16;     // addresses of packed operands are multiples of this (element size to 128)
  GemmSmallSums sums = GemmSmallSums::none;

  friend constexpr bool operator==(const GemmSmallShape&, const GemmSmallShape&) = default;
};

struct GemmSmallConfig {
  int matrices_per_block = 1;  // in a tile of the batch (Masliah's tba); of sums: products, or fixed C
  int threads = 128;
  int thread_m = 1;  // rows and columns of C that one thread computes
  int thread_n = 1;
  int k_unroll = 0;  // unrolled steps of the k loop; 0 = all
  GemmSmallLoad load = GemmSmallLoad::bulk;
  GemmSmallStore store = GemmSmallStore::bulk;
  int stages = 2;          // tiles in flight per block
  bool persistent = true;  // as many blocks as fit the device walk over tiles; else a block per tile
  int blocks_per_sm = 0;   // registers are limited so that this many blocks fit; 0 = the compiler's choice
  bool columns_together = false;  // a thread's columns are neighbours; else they alternate among threads
  GemmSmallRefill refill = GemmSmallRefill::late;
  int shift_bytes = 16;   // packed tiles keep their memory offset within this many bytes in their stage
  bool c_direct = false;  // the old C is read by the threads that update it, not staged
  GemmSmallMultiply multiply = GemmSmallMultiply::fma;
  // If sizes vary: thread tiles shrink in steps of this many rows and columns, each with its own code.
  int size_step = 8;

  friend constexpr bool operator==(const GemmSmallConfig&, const GemmSmallConfig&) = default;
};

// Launch arguments; those that the shape does not need are not read. For pointer batches the operands are
// arrays of addresses. Strides and leading dimensions count elements; an interleaved operand's stride is the
// number of problems in its blocks.
template <class T>
struct alignas(16) GemmSmallArgs {
  const T* a;
  const T* b;
  T* c;
  long long count;
  long long stride_a, stride_b, stride_c;
  long long lda, ldb, ldc;
  T alpha, beta;
  const T* alphas;  // one per problem
  const T* betas;
  // Varying sizes: one per problem, or per group if the groups' first problems are given.
  const long long* sizes_m;
  const long long* sizes_n;
  const long long* sizes_k;
  const long long* sizes_lda;
  const long long* sizes_ldb;
  const long long* sizes_ldc;
  const long long* group_firsts;
  long long group_count;  // 0 = sizes per problem
  int above;              // problems without a size above this belong to another launch
  bool last;              // no later launch takes problems that are too large for this one
  int* info;              // codes of bad problems of pointer batches; may be null
  long long info_step;    // 1 = a code per problem, 0 = one for all
  // Sums: bases from which list entries count elements (null: entries are addresses); entries between
  // products; for fixed sums the products per C.
  const T* origin_a;
  const T* origin_b;
  T* origin_c;
  long long list_step;
  long long run;
};

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
constexpr int gemm_small_rounded(int bytes, int piece) { return ceil_div(bytes, piece) * piece; }

// One operand's matrices in shared memory.
struct GemmSmallOperand {
  GemmSmallStep step = GemmSmallStep::packed;
  int rows = 0;  // as stored
  int columns = 0;
  int ld = 0;
  int elements = 0;         // from one matrix to the next
  bool contiguous = false;  // its matrices are contiguous in global memory
};

constexpr GemmSmallOperand gemm_small_operand(GemmSmallStep step, int rows, int columns, int ld,
                                              int element_bytes) {
  const bool packed = step == GemmSmallStep::packed;
  GemmSmallOperand o{step, rows, columns, rows, rows * columns, packed};
  if (packed && ld > 0) {
    o.ld = ld;
    o.elements = ld * columns;
  }
  if (step == GemmSmallStep::pointer) {
    o.contiguous = ld == rows;
    // Each matrix begins at a 16-byte piece. Larger ones, for bulk copies, begin at a sector: copies whose
    // ends have different offsets fetch sectors twice.
    const int bytes = o.elements * element_bytes;
    o.elements = gemm_small_rounded(bytes, bytes > 256 ? 32 : 16) / element_bytes;
  }
  return o;
}
constexpr GemmSmallOperand gemm_small_a(GemmSmallShape s, int element_bytes) {
  return gemm_small_operand(s.step_a, s.trans_a ? s.k : s.m, s.trans_a ? s.m : s.k, s.lda, element_bytes);
}
constexpr GemmSmallOperand gemm_small_b(GemmSmallShape s, int element_bytes) {
  return gemm_small_operand(s.step_b, s.trans_b ? s.n : s.k, s.trans_b ? s.k : s.n, s.ldb, element_bytes);
}
constexpr GemmSmallOperand gemm_small_c(GemmSmallShape s, int element_bytes) {
  return gemm_small_operand(s.step_c, s.m, s.n, s.ldc, element_bytes);
}

constexpr bool gemm_small_has(GemmSmallShape s, GemmSmallStep step) {
  return s.step_a == step || s.step_b == step || s.step_c == step;
}
// Problems whose equal elements are neighbours in shared memory.
constexpr int gemm_small_lanes(GemmSmallShape s, GemmSmallConfig c) {
  return gemm_small_has(s, GemmSmallStep::interleaved) ? c.matrices_per_block : s.interleave;
}
// Returns the position of element `at` of problem q of a tile.
constexpr int gemm_small_position(int q, int at, int lanes, int elements) {
  return (q / lanes * elements + at) * lanes + q % lanes;
}

// With tensor cores the 32 threads of a warp hold a tile of C as 8 x 4 thread tiles.
constexpr int gemm_small_warp_m = 8, gemm_small_warp_n = 4;
constexpr bool gemm_small_by_warp(GemmSmallConfig c) { return c.multiply != GemmSmallMultiply::fma; }

// Thread tiles of one matrix, in whole warps with tensor cores.
constexpr int gemm_small_tiles_m(GemmSmallShape s, GemmSmallConfig c) {
  const int together = gemm_small_by_warp(c) ? gemm_small_warp_m : 1;
  return ceil_div(s.m, c.thread_m * together) * together;
}
constexpr int gemm_small_tiles_n(GemmSmallShape s, GemmSmallConfig c) {
  const int together = gemm_small_by_warp(c) ? gemm_small_warp_n : 1;
  return ceil_div(s.n, c.thread_n * together) * together;
}
constexpr int gemm_small_units(GemmSmallShape s, GemmSmallConfig c) {
  return c.matrices_per_block * gemm_small_tiles_m(s, c) * gemm_small_tiles_n(s, c);
}
// The problem of a tile and the thread tile that unit number `unit` computes.
struct GemmSmallUnit {
  int q = 0;
  int tile = 0;
};
constexpr GemmSmallUnit gemm_small_unit(int unit, int lanes, int tiles) {
  const int rest = unit % (lanes * tiles);
  return {unit / (lanes * tiles) * lanes + rest % lanes, rest / lanes};
}

// The position of a thread tile in its matrix.
struct GemmSmallPlaceInC {
  int m = 0;
  int n = 0;
};
constexpr GemmSmallPlaceInC gemm_small_place_in_c(GemmSmallConfig c, int tile, int tiles_m) {
  if (!gemm_small_by_warp(c)) return {tile % tiles_m, tile / tiles_m};
  const int lane = tile % 32, warp = tile / 32, warps_m = tiles_m / gemm_small_warp_m;
  return {warp % warps_m * gemm_small_warp_m + lane / gemm_small_warp_n,
          warp / warps_m * gemm_small_warp_n + lane % gemm_small_warp_n};
}

// If sizes vary a warp takes a problem, with 8 x 4 threads whose rows and columns alternate. Thread tiles are
// as large as a problem needs, in steps of size_step up to the config's; larger ones take rounds.
constexpr int gemm_small_own_m = 8, gemm_small_own_n = 4;
constexpr GemmSmallConfig gemm_small_own(GemmSmallConfig c, int thread_m, int thread_n) {
  c.thread_m = thread_m;
  c.thread_n = thread_n;
  return c;
}

// Neighbouring elements that one instruction moves for one thread: rows of A and C, columns of a transposed
// B, and k steps of an operand stored with k fastest.
struct GemmSmallPacks {
  int row = 1;
  int column = 1;
  int k_a = 1;
  int k_b = 1;
  int k_step = 1;  // values of k processed together
};

// Returns the largest power of two up to `most` that divides all three.
constexpr int gemm_small_pack(int a, int b, int c, int most) {
  int count = most;
  while (a % count != 0 || b % count != 0 || c % count != 0) count /= 2;
  return count;
}
constexpr int gemm_small_pack_limit(int bytes, int element_bytes) {
  const int most = bytes < 16 ? bytes : 16;
  return most > element_bytes ? most / element_bytes : 1;
}

constexpr GemmSmallPacks gemm_small_packs(GemmSmallShape s, GemmSmallConfig c, int element_bytes) {
  GemmSmallPacks packs;
  if (gemm_small_lanes(s, c) > 1 || s.sizes_vary || s.k == 0 || gemm_small_by_warp(c)) return packs;
  // Data that lie as in memory are read in packs only if the host guarantees their alignment.
  const bool direct = gemm_small_is_direct(c.load);
  const auto limit = [&](GemmSmallStep step) {
    const bool packed = step == GemmSmallStep::packed;
    return direct && !packed ? 1 : gemm_small_pack_limit(packed ? s.align_bytes : 16, element_bytes);
  };
  const GemmSmallOperand a = gemm_small_a(s, element_bytes), b = gemm_small_b(s, element_bytes);
  if (!s.trans_a) packs.row = gemm_small_pack(s.m, c.thread_m, a.ld, limit(s.step_a));
  if (s.trans_b) packs.column = gemm_small_pack(s.n, c.thread_n, b.ld, limit(s.step_b));
  if (s.trans_a) packs.k_a = gemm_small_pack(s.k, s.k, a.ld, limit(s.step_a));
  if (!s.trans_b) packs.k_b = gemm_small_pack(s.k, s.k, b.ld, limit(s.step_b));
  packs.k_step = packs.k_a > packs.k_b ? packs.k_a : packs.k_b;
  return packs;
}

// Packs alternate among tiles, so that neighbouring threads access neighbouring memory.
constexpr int gemm_small_round(int i, int pack, int tiles, int tile) {
  return (i / pack * tiles + tile) * pack + i % pack;
}
// Returns the row of element `i` of the thread tile at `tile`.
constexpr int gemm_small_row(GemmSmallConfig c, int i, int pack, int tiles, int tile) {
  if (!gemm_small_by_warp(c)) return gemm_small_round(i, pack, tiles, tile);
  const int warp = tile / gemm_small_warp_m, lane = tile % gemm_small_warp_m;
  return (warp * c.thread_m + i) * gemm_small_warp_m + lane;
}
// The same for columns, which may also be contiguous. With tensor cores they come in pairs.
constexpr int gemm_small_column(GemmSmallConfig c, int j, int pack, int tiles, int tile) {
  if (gemm_small_by_warp(c)) {
    const int warp = tile / gemm_small_warp_n, lane = tile % gemm_small_warp_n;
    return ((warp * c.thread_n + j / 2 * 2) * gemm_small_warp_n) + lane * 2 + j % 2;
  }
  return c.columns_together ? tile * c.thread_n + j : gemm_small_round(j, pack, tiles, tile);
}

// Copies of packed operands move 16-byte pieces, and bulk copies are fastest if both ends have the same
// offset in a 128-byte line. Tiles that may begin elsewhere are shifted in their stage.
constexpr bool gemm_small_shifts(GemmSmallShape s, GemmSmallConfig c, GemmSmallOperand o, int element_bytes) {
  const bool alike = s.align_bytes >= c.shift_bytes &&
                     c.matrices_per_block * o.elements * element_bytes % c.shift_bytes == 0;
  return o.step == GemmSmallStep::packed && !gemm_small_is_direct(c.load) && !alike;
}

// True if C is loaded into shared memory with A and B.
constexpr bool gemm_small_loads_c(GemmSmallShape s, GemmSmallConfig c) {
  return s.reads_c && !gemm_small_is_direct(c.load) && !c.c_direct;
}
// Stages of C. A C that is only written needs at most three: one is computed, one is being stored, and
// threads learn one tile later that a third is free.
constexpr int gemm_small_stages_c(GemmSmallShape s, GemmSmallConfig c) {
  if (c.refill != GemmSmallRefill::spare) return c.stages;
  return gemm_small_loads_c(s, c) || c.stages < 2 ? c.stages + 1 : 3;
}
// Bytes kept of a problem that do not follow from its number: addresses, and sizes if they vary.
constexpr int gemm_small_entry_bytes(GemmSmallShape s, GemmSmallConfig c) {
  if (!gemm_small_has(s, GemmSmallStep::pointer) || gemm_small_is_direct(c.load)) return 0;
  return s.sizes_vary ? 72 : 24;
}

// Problems of their own sizes that bulk copies load lie in a ring per warp, of the bytes of `stages` largest
// problems. A block gets matrices_per_block problems, shared out to warps, which do not wait.
constexpr bool gemm_small_rings(GemmSmallShape s, GemmSmallConfig c) {
  return s.sizes_vary && c.load == GemmSmallLoad::bulk;
}
constexpr int gemm_small_ring_slots = 8;  // problems in a ring at most
// An operand in a ring begins at a sector, as matrices in device memory often do.
constexpr int gemm_small_ring_part(int rows, int columns, int element_bytes) {
  return gemm_small_rounded(rows * columns * element_bytes, 32);
}
// A problem in a ring, with what its last thread tiles read beyond it.
constexpr int gemm_small_ring_bytes(GemmSmallShape s, GemmSmallConfig c, int m, int n, int k,
                                    int element_bytes) {
  const int of_c = gemm_small_loads_c(s, c) ? gemm_small_ring_part(m, n, element_bytes) : 0;
  return gemm_small_ring_part(m, k, element_bytes) + gemm_small_ring_part(k, n, element_bytes) + of_c +
         gemm_small_rounded((c.size_step - 1) * element_bytes, 32);
}

// Tiles whose entries are kept: those in the stages and as many after them; with rings the block's own.
constexpr int gemm_small_entry_slots(GemmSmallShape s, GemmSmallConfig c) {
  return gemm_small_rings(s, c) ? 1 : 2 * c.stages;
}

// Byte offsets in a block's shared memory: rings of C, A and B tiles, broadcast operands, barriers, entries.
// Thread tiles that stick out read past a matrix, hence the slack before the barriers. If sizes vary: a ring
// of a_bytes per warp, their barriers and problem starts, entries.
struct GemmSmallMemory {
  int c_bytes = 0;  // of one stage; 0 = no ring
  int a_bytes = 0;
  int b_bytes = 0;
  int a_offset = 0;
  int b_offset = 0;
  int barrier_offset = 0;
  int entry_offset = 0;
  int total_bytes = 0;
};

// Returns the bytes of one stage of an operand.
constexpr int gemm_small_stage_bytes(GemmSmallShape s, GemmSmallConfig c, GemmSmallOperand o,
                                     int element_bytes) {
  const int matrices = o.step == GemmSmallStep::broadcast ? 1 : c.matrices_per_block;
  const int shift = gemm_small_shifts(s, c, o, element_bytes) ? c.shift_bytes : 0;
  return gemm_small_rounded(matrices * o.elements * element_bytes + shift, 128);
}

constexpr GemmSmallMemory gemm_small_ring_memory(GemmSmallShape s, GemmSmallConfig c, int element_bytes) {
  const int warps = c.threads / 32;
  GemmSmallMemory memory;
  memory.a_bytes =
      gemm_small_rounded(c.stages * gemm_small_ring_bytes(s, c, s.m, s.n, s.k, element_bytes), 128);
  memory.barrier_offset = memory.a_bytes * warps;
  memory.entry_offset = memory.barrier_offset + warps * gemm_small_ring_slots * (8 + 4);
  memory.total_bytes = memory.entry_offset + gemm_small_entry_bytes(s, c) * c.matrices_per_block;
  return memory;
}

// Returns the bytes that thread tiles read behind a matrix; varying sizes stick out by the rest of a step.
constexpr int gemm_small_slack(GemmSmallShape s, GemmSmallConfig c, int element_bytes) {
  const int rows =
      s.sizes_vary ? gemm_small_rounded(s.m, c.size_step) : gemm_small_tiles_m(s, c) * c.thread_m;
  const int columns =
      s.sizes_vary ? gemm_small_rounded(s.n, c.size_step) : gemm_small_tiles_n(s, c) * c.thread_n;
  const int ld_a = gemm_small_a(s, element_bytes).ld, ld_b = gemm_small_b(s, element_bytes).ld;
  return ((rows - s.m) * (s.trans_a ? ld_a : 1) + (columns - s.n) * (s.trans_b ? 1 : ld_b)) *
         gemm_small_lanes(s, c) * element_bytes;
}

// Sums: `stages` products per warp, A beside B.
constexpr GemmSmallMemory gemm_small_sums_memory(GemmSmallShape s, GemmSmallConfig c, int element_bytes) {
  GemmSmallMemory memory;
  if (gemm_small_is_direct(c.load) || s.k == 0) return memory;
  memory.a_bytes = gemm_small_ring_part(s.m, s.k, element_bytes);
  memory.b_bytes = gemm_small_ring_part(s.k, s.n, element_bytes);
  memory.b_offset = memory.a_bytes;
  const int of_block = (memory.a_bytes + memory.b_bytes) * c.stages * (c.threads / 32);
  memory.total_bytes = gemm_small_rounded(of_block + gemm_small_slack(s, c, element_bytes), 128);
  return memory;
}

constexpr GemmSmallMemory gemm_small_memory(GemmSmallShape s, GemmSmallConfig c, int element_bytes) {
  if (gemm_small_rings(s, c)) return gemm_small_ring_memory(s, c, element_bytes);
  if (s.sums != GemmSmallSums::none) return gemm_small_sums_memory(s, c, element_bytes);
  GemmSmallMemory memory;
  const bool staged = !gemm_small_is_direct(c.load);
  const GemmSmallOperand a = gemm_small_a(s, element_bytes), b = gemm_small_b(s, element_bytes);
  if (staged) memory.a_bytes = gemm_small_stage_bytes(s, c, a, element_bytes);
  if (staged) memory.b_bytes = gemm_small_stage_bytes(s, c, b, element_bytes);
  if (c.store != GemmSmallStore::direct || gemm_small_loads_c(s, c))
    memory.c_bytes = gemm_small_stage_bytes(s, c, gemm_small_c(s, element_bytes), element_bytes);
  const int a_count = a.step == GemmSmallStep::broadcast ? 1 : c.stages;
  const int b_count = b.step == GemmSmallStep::broadcast ? 1 : c.stages;
  memory.a_offset = memory.c_bytes * gemm_small_stages_c(s, c);
  memory.b_offset = memory.a_offset + memory.a_bytes * a_count;
  const int slack = gemm_small_slack(s, c, element_bytes);
  memory.barrier_offset =
      gemm_small_rounded(memory.b_offset + memory.b_bytes * b_count + (staged ? slack : 0), 128);
  memory.entry_offset = memory.barrier_offset + (c.load == GemmSmallLoad::bulk ? 8 * c.stages : 0);
  memory.total_bytes = memory.entry_offset +
                       gemm_small_entry_bytes(s, c) * c.matrices_per_block * gemm_small_entry_slots(s, c);
  return memory;
}

#ifndef __CUDACC_RTC__
template <>
struct EnumNames<GemmSmallLoad> {
  static constexpr std::array value{
      std::pair{GemmSmallLoad::direct, "direct"}, std::pair{GemmSmallLoad::async, "async"},
      std::pair{GemmSmallLoad::bulk, "bulk"}, std::pair{GemmSmallLoad::read_only, "read_only"}};
};
template <>
struct EnumNames<GemmSmallStore> {
  static constexpr std::array value{std::pair{GemmSmallStore::direct, "direct"},
                                    std::pair{GemmSmallStore::shared, "shared"},
                                    std::pair{GemmSmallStore::bulk, "bulk"}};
};
template <>
struct EnumNames<GemmSmallStep> {
  static constexpr std::array value{
      std::pair{GemmSmallStep::packed, "packed"}, std::pair{GemmSmallStep::broadcast, "broadcast"},
      std::pair{GemmSmallStep::strided, "strided"}, std::pair{GemmSmallStep::pointer, "pointer"},
      std::pair{GemmSmallStep::interleaved, "interleaved"}};
};
template <>
struct EnumNames<GemmSmallRefill> {
  static constexpr std::array value{std::pair{GemmSmallRefill::late, "late"},
                                    std::pair{GemmSmallRefill::at_once, "at_once"},
                                    std::pair{GemmSmallRefill::spare, "spare"}};
};

template <>
struct EnumNames<GemmSmallSums> {
  static constexpr std::array value{std::pair{GemmSmallSums::none, "none"},
                                    std::pair{GemmSmallSums::listed, "listed"},
                                    std::pair{GemmSmallSums::fixed, "fixed"}};
};
template <>
struct EnumNames<GemmSmallMultiply> {
  static constexpr std::array value{std::pair{GemmSmallMultiply::fma, "fma"},
                                    std::pair{GemmSmallMultiply::mma_8x8x4, "mma_8x8x4"},
                                    std::pair{GemmSmallMultiply::mma_16x8x4, "mma_16x8x4"}};
};

template <>
struct FieldList<GemmSmallShape> {
  using S = GemmSmallShape;
  static constexpr auto value = std::make_tuple(
      field("m", &S::m), field("n", &S::n), field("k", &S::k), field("trans_a", &S::trans_a),
      field("trans_b", &S::trans_b), field("conj_a", &S::conj_a), field("conj_b", &S::conj_b),
      field("reads_c", &S::reads_c), field("step_a", &S::step_a), field("step_b", &S::step_b),
      field("step_c", &S::step_c), field("lda", &S::lda), field("ldb", &S::ldb), field("ldc", &S::ldc),
      field("interleave", &S::interleave), field("scalars_vary", &S::scalars_vary),
      field("sizes_vary", &S::sizes_vary), field("align_bytes", &S::align_bytes), field("sums", &S::sums));
};
template <>
struct FieldList<GemmSmallConfig> {
  using C = GemmSmallConfig;
  static constexpr auto value = std::make_tuple(
      field("matrices_per_block", &C::matrices_per_block), field("threads", &C::threads),
      field("thread_m", &C::thread_m), field("thread_n", &C::thread_n), field("k_unroll", &C::k_unroll),
      field("load", &C::load), field("store", &C::store), field("stages", &C::stages),
      field("persistent", &C::persistent), field("blocks_per_sm", &C::blocks_per_sm),
      field("columns_together", &C::columns_together), field("refill", &C::refill),
      field("shift_bytes", &C::shift_bytes), field("c_direct", &C::c_direct), field("multiply", &C::multiply),
      field("size_step", &C::size_step));
};
#endif

}  // namespace tilewright
