// The config of batched small GEMM on the GPU and the shape it is compiled for. Read by the host compiler and
// by NVRTC alike, so that both derive shared memory and thread counts from the same functions. It holds no
// device code.
#pragma once

#ifndef __CUDACC_RTC__
#include "core/fields.hpp"
#endif

namespace tilewright {

// How operands reach the multiplication. direct: each thread reads them from global memory (through the
// read-only path, Masliah 2016); async: element-wise asynchronous copies into shared memory, any strides;
// bulk: one bulk copy per operand and tile, for packed batches.
enum class GemmSmallLoad : unsigned char { direct, async, bulk };
// How C leaves. direct: from registers; shared: through shared memory, written by all threads in order; bulk:
// through shared memory and one bulk copy per tile.
enum class GemmSmallStore : unsigned char { direct, shared, bulk };
// How one operand's matrices follow each other. packed: no gap anywhere; broadcast: one matrix for all
// problems; strided: leading dimension and stride are known at run time only.
enum class GemmSmallStep : unsigned char { packed, broadcast, strided };

// When the stages that a tile has used are loaded again, where C leaves by bulk copies. late: one tile later,
// when its store has surely been read; at_once: right away, after waiting for the store; spare: A and B right
// away and C into one stage more than the others have.
enum class GemmSmallRefill : unsigned char { late, at_once, spare };

// What is computed, as far as it enters the code.
struct GemmSmallShape {
  int m = 1;
  int n = 1;
  int k = 1;
  bool trans_a = false;
  bool trans_b = false;
  bool conj_a = false;
  bool conj_b = false;
  bool reads_c = true;  // beta is not zero
  GemmSmallStep step_a = GemmSmallStep::packed;
  GemmSmallStep step_b = GemmSmallStep::packed;
  GemmSmallStep step_c = GemmSmallStep::packed;
  int align_bytes = 16;  // the addresses of packed operands are multiples of this (element size to 128)

  friend constexpr bool operator==(const GemmSmallShape&, const GemmSmallShape&) = default;
};

// How it is computed.
struct GemmSmallConfig {
  int matrices_per_block = 1;  // in one tile of the batch (Masliah's tba)
  int threads = 128;
  int thread_m = 1;  // rows and columns of C that one thread computes
  int thread_n = 1;
  int k_unroll = 0;  // steps of the k loop unrolled; 0 = all
  GemmSmallLoad load = GemmSmallLoad::bulk;
  GemmSmallStore store = GemmSmallStore::bulk;
  int stages = 2;          // tiles in flight per block
  bool persistent = true;  // as many blocks as fit the device, each walking over tiles; else a block per tile
  int blocks_per_sm = 0;   // registers are limited so that this many blocks fit; 0 = the compiler's choice
  bool columns_together = false;  // a thread's columns are neighbours; else the threads take columns in turn
  GemmSmallRefill refill = GemmSmallRefill::late;
  int shift_bytes = 16;  // bulk copies: tiles lie in their stage as in memory, within pieces of so many bytes

  friend constexpr bool operator==(const GemmSmallConfig&, const GemmSmallConfig&) = default;
};

// What a launch passes. Strides and leading dimensions count elements and are read for strided operands only.
template <class T>
struct GemmSmallArgs {
  const T* a;
  const T* b;
  T* c;
  long long count;
  long long stride_a, stride_b, stride_c;
  long long lda, ldb, ldc;
  T alpha, beta;
};

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Thread tiles of one matrix.
constexpr int gemm_small_tiles_m(GemmSmallShape s, GemmSmallConfig c) { return ceil_div(s.m, c.thread_m); }
constexpr int gemm_small_tiles_n(GemmSmallShape s, GemmSmallConfig c) { return ceil_div(s.n, c.thread_n); }
constexpr int gemm_small_units(GemmSmallShape s, GemmSmallConfig c) {
  return c.matrices_per_block * gemm_small_tiles_m(s, c) * gemm_small_tiles_n(s, c);
}

// Elements that lie side by side in memory, belong to one thread and are moved by one instruction: rows of A
// and C, columns of a transposed B, and k steps where an operand is stored with k running fastest.
struct GemmSmallPacks {
  int row = 1;
  int column = 1;
  int k_a = 1;
  int k_b = 1;
  int k_step = 1;  // values of k handled together
};

// The largest power of two up to 16 bytes of elements that divides both counts.
constexpr int gemm_small_pack(int a, int b, int most) {
  int count = most;
  while (a % count != 0 || b % count != 0) count /= 2;
  return count;
}

constexpr GemmSmallPacks gemm_small_packs(GemmSmallShape s, GemmSmallConfig c, int element_bytes) {
  // What lies as it does in memory is read in packs only where the host vouches for the alignment there.
  const bool direct = c.load == GemmSmallLoad::direct;
  const bool as_in_memory = direct || c.load == GemmSmallLoad::bulk || c.store == GemmSmallStore::bulk;
  const int bytes = as_in_memory && s.align_bytes < 16 ? s.align_bytes : 16;
  const int most = bytes > element_bytes ? bytes / element_bytes : 1;
  const bool packs_a = !direct || s.step_a == GemmSmallStep::packed;
  const bool packs_b = !direct || s.step_b == GemmSmallStep::packed;
  GemmSmallPacks packs;
  if (packs_a && !s.trans_a) packs.row = gemm_small_pack(s.m, c.thread_m, most);
  if (packs_b && s.trans_b) packs.column = gemm_small_pack(s.n, c.thread_n, most);
  if (packs_a && s.trans_a) packs.k_a = gemm_small_pack(s.k, s.k, most);
  if (packs_b && !s.trans_b) packs.k_b = gemm_small_pack(s.k, s.k, most);
  packs.k_step = packs.k_a > packs.k_b ? packs.k_a : packs.k_b;
  return packs;
}

// The row (or column) of element `i` of thread tile `tile`: packs go round the tiles, so that neighbouring
// threads touch neighbouring memory.
constexpr int gemm_small_place(int i, int pack, int tiles, int tile) {
  return (i / pack * tiles + tile) * pack + i % pack;
}
// The same for columns, which may also stay together.
constexpr int gemm_small_column(GemmSmallConfig c, int j, int pack, int tiles, int tile) {
  return c.columns_together ? tile * c.thread_n + j : gemm_small_place(j, pack, tiles, tile);
}

// Bulk copies move whole pieces of 16 bytes and are fastest where both ends lie alike within a line of 128.
// Tiles that may begin elsewhere lie shifted in their stage.
constexpr bool gemm_small_shifts(GemmSmallShape s, GemmSmallConfig c, int elements, int element_bytes) {
  const bool bulk = c.load == GemmSmallLoad::bulk || c.store == GemmSmallStore::bulk;
  const bool alike =
      s.align_bytes >= c.shift_bytes && c.matrices_per_block * elements * element_bytes % c.shift_bytes == 0;
  return bulk && !alike;
}

// Byte offsets in a block's shared memory: the ring of C tiles, the ring of A tiles, the ring of B tiles,
// operands that are broadcast, barriers. Thread tiles that stick out of a matrix read past it, hence the
// slack before the barriers.
struct GemmSmallMemory {
  int c_bytes = 0;  // of one stage; 0 = this operand has no ring
  int a_bytes = 0;
  int b_bytes = 0;
  int a_offset = 0;
  int b_offset = 0;
  int barrier_offset = 0;
  int total_bytes = 0;
};

constexpr int gemm_small_aligned(int bytes) { return ceil_div(bytes, 128) * 128; }
// Of one stage of an operand with `elements` per matrix.
constexpr int gemm_small_stage_bytes(GemmSmallShape s, GemmSmallConfig c, int elements, int element_bytes) {
  const int shift = gemm_small_shifts(s, c, elements, element_bytes) ? c.shift_bytes : 0;
  return gemm_small_aligned(c.matrices_per_block * elements * element_bytes + shift);
}
// Stages of C. A C that is only written needs at most three: one is computed, one leaves, and the threads
// learn one tile later that a third has left.
constexpr int gemm_small_stages_c(GemmSmallShape s, GemmSmallConfig c) {
  if (c.refill != GemmSmallRefill::spare) return c.stages;
  return s.reads_c || c.stages < 2 ? c.stages + 1 : 3;
}

constexpr GemmSmallMemory gemm_small_memory(GemmSmallShape s, GemmSmallConfig c, int element_bytes) {
  GemmSmallMemory memory;
  if (c.load != GemmSmallLoad::direct) {
    const int a = s.m * s.k, b = s.k * s.n;
    memory.a_bytes = s.step_a == GemmSmallStep::broadcast ? gemm_small_aligned(a * element_bytes)
                                                          : gemm_small_stage_bytes(s, c, a, element_bytes);
    memory.b_bytes = s.step_b == GemmSmallStep::broadcast ? gemm_small_aligned(b * element_bytes)
                                                          : gemm_small_stage_bytes(s, c, b, element_bytes);
  }
  const bool holds_c = c.store != GemmSmallStore::direct || (s.reads_c && c.load != GemmSmallLoad::direct);
  if (holds_c) memory.c_bytes = gemm_small_stage_bytes(s, c, s.m * s.n, element_bytes);
  const int a_count = s.step_a == GemmSmallStep::broadcast ? 1 : c.stages;
  const int b_count = s.step_b == GemmSmallStep::broadcast ? 1 : c.stages;
  memory.a_offset = memory.c_bytes * gemm_small_stages_c(s, c);
  memory.b_offset = memory.a_offset + memory.a_bytes * a_count;
  const int rows_beyond = gemm_small_tiles_m(s, c) * c.thread_m - s.m;
  const int columns_beyond = gemm_small_tiles_n(s, c) * c.thread_n - s.n;
  const int most = s.k > s.n ? (s.k > s.m ? s.k : s.m) : (s.n > s.m ? s.n : s.m);
  const int slack = (rows_beyond + columns_beyond) * most * element_bytes;
  memory.barrier_offset =
      gemm_small_aligned(memory.b_offset + memory.b_bytes * b_count + (memory.a_bytes > 0 ? slack : 0));
  memory.total_bytes = memory.barrier_offset + (c.load == GemmSmallLoad::bulk ? 8 * c.stages : 0);
  return memory;
}

#ifndef __CUDACC_RTC__
template <>
struct EnumNames<GemmSmallLoad> {
  static constexpr std::array value{std::pair{GemmSmallLoad::direct, "direct"},
                                    std::pair{GemmSmallLoad::async, "async"},
                                    std::pair{GemmSmallLoad::bulk, "bulk"}};
};
template <>
struct EnumNames<GemmSmallStore> {
  static constexpr std::array value{std::pair{GemmSmallStore::direct, "direct"},
                                    std::pair{GemmSmallStore::shared, "shared"},
                                    std::pair{GemmSmallStore::bulk, "bulk"}};
};
template <>
struct EnumNames<GemmSmallStep> {
  static constexpr std::array value{std::pair{GemmSmallStep::packed, "packed"},
                                    std::pair{GemmSmallStep::broadcast, "broadcast"},
                                    std::pair{GemmSmallStep::strided, "strided"}};
};

template <>
struct EnumNames<GemmSmallRefill> {
  static constexpr std::array value{std::pair{GemmSmallRefill::late, "late"},
                                    std::pair{GemmSmallRefill::at_once, "at_once"},
                                    std::pair{GemmSmallRefill::spare, "spare"}};
};

template <>
struct FieldList<GemmSmallShape> {
  using S = GemmSmallShape;
  static constexpr auto value =
      std::make_tuple(field("m", &S::m), field("n", &S::n), field("k", &S::k), field("trans_a", &S::trans_a),
                      field("trans_b", &S::trans_b), field("conj_a", &S::conj_a), field("conj_b", &S::conj_b),
                      field("reads_c", &S::reads_c), field("step_a", &S::step_a), field("step_b", &S::step_b),
                      field("step_c", &S::step_c), field("align_bytes", &S::align_bytes));
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
      field("shift_bytes", &C::shift_bytes));
};
#endif

}  // namespace tilewright
