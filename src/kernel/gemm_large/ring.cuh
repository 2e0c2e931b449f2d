// The ring of stages in shared memory, in two kinds with one interface: filled by all threads and guarded by
// __syncthreads, or filled by the copy engine and guarded by barriers. The main loop requests a stage
// (acquire), moves on (advance), returns the previous one (release) and starts later loads (refill).
#pragma once

#include "kernel/gemm_large/copy.cuh"
#include "kernel/gemm_large/store.cuh"

namespace tilewright {

// Inputs of both kinds for a unit of work.
struct GemmLargeSpan {
  long long row_a, row_b;  // first row of op(A) and column of op(B)
  long long k_first, k_stop;
  int turns;  // tiles of k
};

// The ring that the threads fill.
template <class T, GemmLargeShape S, GemmLargeConfig C>
struct GemmLargeThreadRing {
  static constexpr GemmLargeMemory memory = gemm_large_memory(S, C, sizeof(T));
  static constexpr GemmLargeTile tile_a = gemm_large_tile_a(S, C, sizeof(T));
  static constexpr GemmLargeTile tile_b = gemm_large_tile_b(S, C, sizeof(T));
  static constexpr bool async = C.load == GemmLargeLoad::async;
  static constexpr bool early = C.load == GemmLargeLoad::registers;
  using CopyA = GemmLargeCopy<T, C, tile_a, C.read_a>;
  using CopyB = GemmLargeCopy<T, C, tile_b, C.read_b>;

  const GemmLargeArgs<T>& args;
  unsigned char* shared;
  CopyA a;
  CopyB b;
  int fill_stage = 0;  // the stage of the next tile
  int read_stage = 0;
  int fills_left = 0;

  __device__ __forceinline__ GemmLargeThreadRing(const GemmLargeArgs<T>& arguments,
                                                 unsigned char* memory_begin)
      : args(arguments), shared(memory_begin) {}

  __device__ __forceinline__ unsigned char* stage_a(int stage) const {
    return shared + stage * memory.stage_bytes;
  }
  __device__ __forceinline__ unsigned char* stage_b(int stage) const {
    return stage_a(stage) + memory.a_bytes;
  }

  template <bool Checked>
  __device__ __forceinline__ void begin_all() {
    constexpr int most = CopyA::accesses > CopyB::accesses ? CopyA::accesses : CopyB::accesses;
    if constexpr (C.interleave) {
#pragma unroll
      for (int access = 0; access < most; ++access) {
        if (access < CopyA::accesses) a.template begin<Checked>(stage_a(fill_stage), access);
        if (access < CopyB::accesses) b.template begin<Checked>(stage_b(fill_stage), access);
      }
    } else {
#pragma unroll
      for (int access = 0; access < CopyA::accesses; ++access)
        a.template begin<Checked>(stage_a(fill_stage), access);
#pragma unroll
      for (int access = 0; access < CopyB::accesses; ++access)
        b.template begin<Checked>(stage_b(fill_stage), access);
    }
  }
  // Starts a fill: issues the accesses. Every call makes one group of asynchronous copies.
  __device__ __forceinline__ void begin_fill() {
    if (fills_left > 0) {
      if constexpr (C.boundary == GemmLargeBoundary::predicate)
        begin_all<true>();
      else if (C.boundary != GemmLargeBoundary::residue || (a.is_whole() && b.is_whole()))
        begin_all<false>();
      else
        begin_all<true>();
      a.turn();
      b.turn();
    }
    if constexpr (async) copy_async_commit();
  }
  // Ends a fill: moves registers to the stage.
  __device__ __forceinline__ void end_fill() {
    if (fills_left <= 0) return;
    a.end(stage_a(fill_stage));
    b.end(stage_b(fill_stage));
    --fills_left;
    fill_stage = fill_stage + 1 == C.stages ? 0 : fill_stage + 1;
  }

  __device__ __forceinline__ void start(const GemmLargeSpan& span, [[maybe_unused]] int problem) {
    __syncthreads();  // the previous unit's stages have been read
    const T* const of_a = matrix_of<S>(args.a, args.stride_a, problem, span.turns > 0);
    const T* const of_b = matrix_of<S>(args.b, args.stride_b, problem, span.turns > 0);
    a.start(of_a, args.lda, span.row_a, args.m, span.k_first, span.k_stop);
    b.start(of_b, args.ldb, span.row_b, args.n, span.k_first, span.k_stop);
    fill_stage = read_stage = 0;
    fills_left = span.turns;
#pragma unroll 1
    for (int stage = 0; stage + 1 < C.stages; ++stage) {
      begin_fill();
      end_fill();
    }
    if constexpr (early && C.stages == 1) begin_fill();
  }
  // Makes the next stage readable; a ring of one is filled here.
  __device__ __forceinline__ void acquire() {
    if constexpr (C.stages == 1) {
      __syncthreads();
      if constexpr (!early) begin_fill();
      end_fill();
    }
    if constexpr (async) copy_async_wait<(C.stages > 1 ? C.stages - 2 : 0)>();
    __syncthreads();
  }
  // Loads the tile `stages - 1` steps ahead: starts early in a step, ends after its product.
  __device__ __forceinline__ void refill_begin() {
    if constexpr (C.stages > 1 || early) begin_fill();
    if constexpr (C.stages > 1 && !early) end_fill();
  }
  __device__ __forceinline__ void refill_end() {
    if constexpr (C.stages > 1 && early) end_fill();
  }
  __device__ __forceinline__ int advance() {
    const int done = read_stage;
    read_stage = read_stage + 1 == C.stages ? 0 : read_stage + 1;
    return done;
  }
  __device__ __forceinline__ void release(int, unsigned) const {}  // by the next acquire
  __device__ __forceinline__ void prefetch_maps() const {}
  __device__ __forceinline__ const unsigned char* read_a() const { return stage_a(read_stage); }
  __device__ __forceinline__ const unsigned char* read_b() const { return stage_b(read_stage); }
  __device__ __forceinline__ void finish() const {}
};

// The ring that the copy engine fills, fed by the warps alternately or by one of its own (specialised).
template <class T, GemmLargeShape S, GemmLargeConfig C>
struct GemmLargeTensorRing {
  static constexpr GemmLargeMemory memory = gemm_large_memory(S, C, sizeof(T));
  static constexpr GemmLargeTile tile_a = gemm_large_tile_a(S, C, sizeof(T));
  static constexpr GemmLargeTile tile_b = gemm_large_tile_b(S, C, sizeof(T));

  const GemmLargeArgs<T>& args;
  unsigned char* shared;
  int fill_stage = 0;
  int read_stage = 0;
  unsigned fill_parity = 1;  // of the empty barrier: at first all stages are empty
  unsigned read_parity = 0;
  int fills_left = 0;
  int warp;
  int feeder = C.specialised ? gemm_large_warps(C) : 0;  // the warp that feeds next
  int at_a[2];                                           // coordinates along rows and k
  int at_b[2];
  int problem = 0;

  __device__ __forceinline__ GemmLargeTensorRing(const GemmLargeArgs<T>& arguments,
                                                 unsigned char* memory_begin)
      : args(arguments), shared(memory_begin), warp(uniform_warp()) {
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < C.stages; ++stage) {
        barrier_init(full(stage), 1);
        barrier_init(empty(stage), gemm_large_warps(C) * C.cluster);
      }
      barrier_init_fence();
    }
    if constexpr (C.cluster > 1)
      sync_cluster();  // other blocks copy to this one and arrive at its barriers
    else
      __syncthreads();
  }

  __device__ __forceinline__ void prefetch_maps() const {
    if (threadIdx.x != 0 || args.k == 0) return;
    prefetch_map(&args.map_a);
    prefetch_map(&args.map_b);
    if constexpr (tile_a.maps > 1) prefetch_map(&args.odd_a);
    if constexpr (tile_b.maps > 1) prefetch_map(&args.odd_b);
  }
  __device__ __forceinline__ unsigned long long* full(int stage) const {
    return reinterpret_cast<unsigned long long*>(shared + memory.barrier_offset) + stage;
  }
  __device__ __forceinline__ unsigned long long* empty(int stage) const { return full(C.stages + stage); }
  __device__ __forceinline__ unsigned char* stage_a(int stage) const {
    return shared + stage * memory.stage_bytes;
  }
  __device__ __forceinline__ unsigned char* stage_b(int stage) const {
    return stage_a(stage) + memory.a_bytes;
  }

  // Loads a tile as boxes: panels of 128-byte rows if it is swizzled, else one. Each block of a cluster
  // fetches its part of a shared tile for all.
  template <GemmLargeTile Tile, bool Shared>
  __device__ __forceinline__ void load(unsigned char* stage, const GemmLargeMap& map,
                                       const int (&at)[2]) const {
    // Complex f64 numbers are pairs of the map's elements.
    constexpr int words = Tile.element_bytes > 8 ? Tile.element_bytes / 8 : 1;
    constexpr int panel = Tile.inner() / gemm_large_panels(Tile);
    constexpr bool rows = Shared && gemm_large_splits_rows(Tile, C);
    constexpr int panels = gemm_large_panels(Tile) / (Shared && !rows ? C.cluster : 1);
    const int rank = Shared ? gemm_large_rank<C>() : 0;
    const int first = rows ? 0 : rank * panels, row = rows ? rank * (Tile.outer() / C.cluster) : 0;
    // Walking blocks are short of registers, and a loop is enough.
    [[maybe_unused]] constexpr int unroll = gemm_large_walks(C) ? 1 : panels;
#pragma unroll unroll
    for (int p = first; p < first + panels; ++p) {
      unsigned char* const to = stage + (p * Tile.outer() + row) * panel * Tile.element_bytes;
      const int inner = ((Tile.along_k ? at[1] : at[0]) + p * panel) * words;
      const int outer = (Tile.along_k ? at[0] : at[1]) + row;
      if constexpr (S.batch != GemmLargeBatch::none)
        tensor_load(to, &map, inner, outer, problem, full(fill_stage));
      else if constexpr (Shared)
        tensor_load_for_all<C.cluster>(to, &map, inner, outer, full(fill_stage));
      else
        tensor_load(to, &map, inner, outer, full(fill_stage));
    }
  }
  // Loads an operand whose columns have two maps: the even ones, then the odd ones.
  template <GemmLargeTile Tile>
  __device__ __forceinline__ void load_by_turns(unsigned char* stage, const GemmLargeMap& even,
                                                const GemmLargeMap& odd, const int (&at)[2]) const {
    static_assert(Tile.maps == 2 && Tile.layout == GemmLargeLayout::padding && C.cluster == 1);
    const int inner = Tile.along_k ? at[1] : at[0], outer = (Tile.along_k ? at[0] : at[1]) / Tile.maps;
    tensor_load(stage, &even, inner, outer, full(fill_stage));
    tensor_load(stage + Tile.map_columns() * Tile.pitch(), &odd, inner, outer, full(fill_stage));
  }
  __device__ __forceinline__ void fill() {
    if (fills_left <= 0) return;
    if (warp == feeder) {
      barrier_wait(empty(fill_stage), fill_parity);
      if (elect_lane()) {
        barrier_arrive_expect(full(fill_stage), tile_a.bytes() + tile_b.bytes());
        if constexpr (tile_a.maps > 1)
          load_by_turns<tile_a>(stage_a(fill_stage), args.map_a, args.odd_a, at_a);
        else
          load<tile_a, (C.cluster > 1)>(stage_a(fill_stage), args.map_a, at_a);
        if constexpr (tile_b.maps > 1)
          load_by_turns<tile_b>(stage_b(fill_stage), args.map_b, args.odd_b, at_b);
        else
          load<tile_b, false>(stage_b(fill_stage), args.map_b, at_b);
      }
      __syncwarp();
    }
    if constexpr (!C.specialised) feeder = feeder + 1 == gemm_large_warps(C) ? 0 : feeder + 1;
    at_a[1] += C.tile_k;
    at_b[1] += C.tile_k;
    --fills_left;
    if (++fill_stage == C.stages) {
      fill_stage = 0;
      fill_parity ^= 1;
    }
  }

  __device__ __forceinline__ void start(const GemmLargeSpan& span, [[maybe_unused]] int of_batch) {
    at_a[0] = int(span.row_a);
    at_b[0] = int(span.row_b);
    at_a[1] = at_b[1] = int(span.k_first);
    if constexpr (S.batch != GemmLargeBatch::none) problem = of_batch;
    fills_left = span.turns;
    if constexpr (C.specialised) {
#pragma unroll 1
      while (fills_left > 0) fill();
    } else {
#pragma unroll 1
      for (int stage = 0; stage + 1 + C.slack < C.stages; ++stage) fill();
    }
  }
  __device__ __forceinline__ void acquire() const { barrier_wait(full(read_stage), read_parity); }
  __device__ __forceinline__ void refill_begin() {
    if constexpr (!C.specialised) fill();
  }
  __device__ __forceinline__ void refill_end() const {}
  __device__ __forceinline__ int advance() {
    const int done = read_stage;
    if (++read_stage == C.stages) {
      read_stage = 0;
      read_parity ^= 1;
    }
    return done;
  }
  // `witness` comes from the last read of the stage: without it the arrival could overtake queued reads.
  __device__ __forceinline__ void release(int stage, unsigned witness) const {
    __syncwarp();
    const auto none = static_cast<unsigned>(args.k >> 63);
    if constexpr (C.cluster > 1) {  // what the others fetch is stored here too
      const int lane = int(threadIdx.x) % gemm_large_lanes;
      if (lane < C.cluster) barrier_arrive_at(empty(stage), unsigned(lane), witness, none);
    } else {
      if (elect_lane()) barrier_arrive_after(empty(stage), witness, none);
    }
  }
  __device__ __forceinline__ const unsigned char* read_a() const { return stage_a(read_stage); }
  __device__ __forceinline__ const unsigned char* read_b() const { return stage_b(read_stage); }
  // A block's barriers must exist until the last block of its cluster has arrived at them.
  __device__ __forceinline__ void finish() const {
    if constexpr (C.cluster > 1) sync_cluster();
  }
};

}  // namespace tilewright
