// The stencil of batched small GEMM on the GPU: C = alpha op(A) op(B) + beta C for matrices whose sizes are
// compile-time constants. A block walks over tiles of the batch; each tile's operands come through a ring of
// shared-memory stages, each thread computes small blocks of C, and the results leave as the config says.
// Everything that is chosen is in the config; which problem and which device is the host's matter.
#pragma once

#include "kernel/gemm_small_config.hpp"
#include "kernel/gemm_small_product.cuh"
#include "kernel/gpu_copy.cuh"
#include "kernel/gpu_element.cuh"

namespace tilewright {

// One operand as a tile sees it: where problem q of the tile begins, in shared memory once loaded and in
// global memory.
template <class T, GemmSmallShape S, GemmSmallConfig C>
struct GemmSmallStencil {
  static constexpr GemmSmallMemory memory = gemm_small_memory(S, C, sizeof(T));
  static constexpr int a_count = S.m * S.k;
  static constexpr int b_count = S.k * S.n;
  static constexpr int c_count = S.m * S.n;
  static constexpr bool loads_shifted = C.load == GemmSmallLoad::bulk;
  static constexpr bool loads_c = S.reads_c && C.load != GemmSmallLoad::direct;
  static constexpr bool keeps_a = S.step_a == GemmSmallStep::broadcast;
  static constexpr bool keeps_b = S.step_b == GemmSmallStep::broadcast;
  static constexpr bool waits_for_store = C.store == GemmSmallStore::bulk;
  static constexpr int stages_c = gemm_small_stages_c(S, C);
  // Tiles by which loading follows storing; with one stage there is none to spare.
  static constexpr int refill_lag =
      waits_for_store && C.refill == GemmSmallRefill::late && C.stages > 1 ? 1 : 0;
  // Stores that may still be read from when the next tile is loaded.
  static constexpr int stores_pending = refill_lag == 1 || C.refill == GemmSmallRefill::spare ? 1 : 0;
  using Args = GemmSmallArgs<T>;

  // The stages of one tile; C may go round a longer ring than A and B.
  struct Place {
    int stage = 0;
    int stage_c = 0;

    __device__ __forceinline__ void next() {
      stage = stage + 1 == C.stages ? 0 : stage + 1;
      stage_c = stage_c + 1 == stages_c ? 0 : stage_c + 1;
    }
    // Where the tile is loaded that takes this one's turn.
    __device__ __forceinline__ Place refilled() const {
      Place place = *this;
      if (refill_lag == 1) place.stage = stage == 0 ? C.stages - 1 : stage - 1;
      if (stores_pending == 1) place.stage_c = stage_c == 0 ? stages_c - 1 : stage_c - 1;
      return place;
    }
  };

  const Args& args;
  unsigned char* shared;

  __device__ __forceinline__ T* stage_a(int stage) const {
    return reinterpret_cast<T*>(shared + memory.a_offset + (keeps_a ? 0 : stage * memory.a_bytes));
  }
  __device__ __forceinline__ T* stage_b(int stage) const {
    return reinterpret_cast<T*>(shared + memory.b_offset + (keeps_b ? 0 : stage * memory.b_bytes));
  }
  __device__ __forceinline__ T* stage_c(int stage) const {
    return reinterpret_cast<T*>(shared + stage * memory.c_bytes);
  }
  __device__ __forceinline__ unsigned long long* barrier(int stage) const {
    return reinterpret_cast<unsigned long long*>(shared + memory.barrier_offset) + stage;
  }
  __device__ __forceinline__ int shift_c(long long tile) const { return shift<c_count>(args.c, tile); }
  __device__ __forceinline__ long long first(long long tile) const { return tile * C.matrices_per_block; }
  // Problems in a tile; only the last one of the batch is not full.
  __device__ __forceinline__ int problems(long long tile) const {
    const long long left = args.count - first(tile);
    return left < C.matrices_per_block ? static_cast<int>(left) : C.matrices_per_block;
  }

  // Broadcast operands are read once per block.
  template <int Rows, int Columns>
  __device__ __forceinline__ void keep(T* to, const T* from, long long ld) const {
    for (int e = threadIdx.x; e < Rows * Columns; e += C.threads) to[e] = from[e / Rows * ld + e % Rows];
  }
  __device__ __forceinline__ void keep_broadcast() const {
    if constexpr (C.load == GemmSmallLoad::direct) return;
    if constexpr (keeps_a) keep<S.trans_a ? S.k : S.m, S.trans_a ? S.m : S.k>(stage_a(0), args.a, args.lda);
    if constexpr (keeps_b) keep<S.trans_b ? S.n : S.k, S.trans_b ? S.k : S.n>(stage_b(0), args.b, args.ldb);
  }

  // Elements by which a tile lies shifted in its stage.
  template <int Elements>
  __device__ __forceinline__ int shift(const T* operand, long long tile) const {
    if constexpr (!gemm_small_shifts(S, C, Elements, sizeof(T))) return 0;
    const auto address = reinterpret_cast<unsigned long long>(operand + first(tile) * Elements);
    return static_cast<int>(address % C.shift_bytes) / static_cast<int>(sizeof(T));
  }
  // Loads the pieces of 16 bytes that a tile touches, and element by element what would reach beyond the
  // operand. Returns the bytes that the copy engine will report.
  template <int Elements>
  __device__ __forceinline__ unsigned bulk_in(T* stage, const T* operand, long long tile, int at) const {
    constexpr bool pieces = S.align_bytes >= 16 && C.matrices_per_block * Elements * int(sizeof(T)) % 16 == 0;
    const T* from = operand + first(tile) * Elements;
    const int count = problems(tile) * Elements;
    T* to = stage + shift<Elements>(operand, tile);
    const int before = pieces ? 0 : static_cast<int>(reinterpret_cast<unsigned long long>(from) % 16);
    int bytes = (before + count * int(sizeof(T)) + 15) / 16 * 16;
    const bool last = first(tile) + C.matrices_per_block >= args.count;
    if (last && bytes != before + count * int(sizeof(T))) {
      bytes -= 16;
      for (int e = (bytes - before) / int(sizeof(T)); e < count; ++e)
        if (e >= 0) to[e] = from[e];
    }
    if (bytes > 0)
      bulk_load(reinterpret_cast<char*>(to) - before, reinterpret_cast<const char*>(from) - before,
                static_cast<unsigned>(bytes), barrier(at));
    return static_cast<unsigned>(bytes);
  }
  __device__ __forceinline__ void fill_bulk(long long tile, Place place) const {
    unsigned bytes = 0;
    if constexpr (!keeps_a) bytes += bulk_in<a_count>(stage_a(place.stage), args.a, tile, place.stage);
    if constexpr (!keeps_b) bytes += bulk_in<b_count>(stage_b(place.stage), args.b, tile, place.stage);
    if constexpr (loads_c) bytes += bulk_in<c_count>(stage_c(place.stage_c), args.c, tile, place.stage);
    barrier_arrive_expect(barrier(place.stage), bytes);
  }

  // Copies by all threads: packs of neighbouring elements where alignment allows, else element by element.
  template <GemmSmallStep Step, int Rows, int Columns>
  __device__ __forceinline__ void copy_in(T* to, const T* from, long long first_problem, long long stride,
                                          long long ld, int count) const {
    // A strided operand's addresses are all that is known to be aligned, not its leading dimension.
    constexpr bool packed = Step == GemmSmallStep::packed;
    constexpr int most = packed && S.align_bytes > int(sizeof(T)) ? S.align_bytes / int(sizeof(T)) : 1;
    constexpr int pack = gemm_small_pack(Rows * Columns, Rows * Columns, most);
    constexpr int per_matrix = Rows * Columns / pack;
    for (int e = threadIdx.x; e < count * per_matrix; e += C.threads) {
      const int q = e / per_matrix, at = e % per_matrix * pack;
      const T* source = packed ? from + (first_problem + q) * (Rows * Columns) + at
                               : from + (first_problem + q) * stride + at / Rows * ld + at % Rows;
      copy_async<pack* int(sizeof(T))>(to + q * (Rows * Columns) + at, source);
    }
  }
  __device__ __forceinline__ void fill_async(long long tile, Place place) const {
    const int count = problems(tile);
    if constexpr (!keeps_a)
      copy_in<S.step_a, S.trans_a ? S.k : S.m, S.trans_a ? S.m : S.k>(
          stage_a(place.stage), args.a, first(tile), args.stride_a, args.lda, count);
    if constexpr (!keeps_b)
      copy_in<S.step_b, S.trans_b ? S.n : S.k, S.trans_b ? S.k : S.n>(
          stage_b(place.stage), args.b, first(tile), args.stride_b, args.ldb, count);
    if constexpr (loads_c)
      copy_in<S.step_c, S.m, S.n>(stage_c(place.stage_c) + shift_c(tile), args.c, first(tile), args.stride_c,
                                  args.ldc, count);
  }

  // Brings the operands of a tile on their way; a tile beyond the last is none. Called by all threads.
  __device__ __forceinline__ void fill(long long tile, Place place) const {
    const bool exists = first(tile) < args.count;
    if constexpr (C.load == GemmSmallLoad::bulk) {
      if (threadIdx.x == 0 && exists) fill_bulk(tile, place);
    } else if constexpr (C.load == GemmSmallLoad::async) {
      if (exists) fill_async(tile, place);
      copy_async_commit();
    }
  }
  __device__ __forceinline__ void wait(int stage, unsigned parity) const {
    if constexpr (C.load == GemmSmallLoad::bulk) {
      barrier_wait(barrier(stage), parity);
    } else if constexpr (C.load == GemmSmallLoad::async) {
      copy_async_wait<C.stages - 1 - refill_lag>();
      __syncthreads();
    }
  }

  __device__ __forceinline__ void multiply(long long tile, Place place) const {
    using Product = GemmSmallProduct<T, S, C>;
    const int units = problems(tile) * Product::tiles;
    const int shift_a = loads_shifted ? shift<a_count>(args.a, tile) : 0,
              shift_b = loads_shifted ? shift<b_count>(args.b, tile) : 0;
    T* c_tile = stage_c(place.stage_c) + shift_c(tile);
    for (int unit = threadIdx.x; unit < units; unit += C.threads) {
      const int q = unit / Product::tiles;
      const long long problem = first(tile) + q;
      constexpr bool direct = C.load == GemmSmallLoad::direct;
      const T* a = direct ? Product::global_a(args, problem)
                          : stage_a(place.stage) + (keeps_a ? 0 : shift_a + q * a_count);
      const T* b = direct ? Product::global_b(args, problem)
                          : stage_b(place.stage) + (keeps_b ? 0 : shift_b + q * b_count);
      T* c_global = Product::global_c(args, problem);
      T* c_shared = c_tile + q * c_count;
      Product product(unit % Product::tiles);
      product.form(a, b, args);
      product.finish(loads_c ? c_shared : c_global, C.store == GemmSmallStore::direct ? c_global : c_shared,
                     args);
    }
  }

  // From shared memory to global memory by all threads.
  __device__ __forceinline__ void store_shared(long long tile, Place place) const {
    const int count = problems(tile) * c_count;
    const T* from = stage_c(place.stage_c) + shift_c(tile);
    for (int e = threadIdx.x; e < count; e += C.threads) {
      if constexpr (S.step_c == GemmSmallStep::packed) {
        args.c[first(tile) * c_count + e] = from[e];
      } else {
        const int q = e / c_count, at = e % c_count;
        args.c[(first(tile) + q) * args.stride_c + at / S.m * args.ldc + at % S.m] = from[e];
      }
    }
  }
  // Whole pieces of 16 bytes by one bulk copy, what is left at both ends element by element.
  __device__ __forceinline__ void store_bulk(long long tile, Place place) const {
    constexpr int size = sizeof(T);
    constexpr bool pieces = S.align_bytes >= 16 && c_count * size % 16 == 0;
    T* to = args.c + first(tile) * c_count;
    const T* from = stage_c(place.stage_c) + shift_c(tile);
    const int count = problems(tile) * c_count;
    const auto plain = [&](int e, int end) {
      for (; e < end; ++e) to[e] = from[e];
    };
    const int before = static_cast<int>(-reinterpret_cast<unsigned long long>(to) % 16) / size;
    const int head = pieces ? 0 : before < count ? before : count;
    const int body = pieces ? count : (count - head) * size / 16 * 16 / size;
    if constexpr (!pieces) plain(0, head);
    if (body > 0) bulk_store(to + head, from + head, static_cast<unsigned>(body * size));
    if constexpr (!pieces) plain(head + body, count);
    bulk_store_commit();
  }

  // The tile has been multiplied: C leaves, and the stage that is free takes the next tile.
  __device__ __forceinline__ void turn(long long tile, long long step, Place place, bool may_refill) const {
    if constexpr (C.load == GemmSmallLoad::bulk || C.store == GemmSmallStore::bulk) copy_engine_fence();
    if constexpr (C.load != GemmSmallLoad::direct || C.store != GemmSmallStore::direct) __syncthreads();
    if constexpr (C.store == GemmSmallStore::shared) {
      store_shared(tile, place);
      if constexpr (C.load == GemmSmallLoad::bulk) copy_engine_fence();
      __syncthreads();
    }
    if constexpr (waits_for_store) {
      if (threadIdx.x == 0) {
        store_bulk(tile, place);
        bulk_store_wait_read<stores_pending>();
      }
      // All threads write into the freed stage.
      if constexpr (C.load != GemmSmallLoad::bulk) __syncthreads();
    }
    if (may_refill)
      fill(tile + step * (C.stages - refill_lag), place.refilled());
    else if constexpr (C.load == GemmSmallLoad::async)
      copy_async_commit();  // keeps one group per tile
  }
};

template <class T, GemmSmallShape S, GemmSmallConfig C>
__global__ void __launch_bounds__(C.threads, C.blocks_per_sm) gemm_small(const GemmSmallArgs<T> args) {
  extern __shared__ __align__(128) unsigned char shared[];
  using Stencil = GemmSmallStencil<T, S, C>;
  const Stencil stencil{args, shared};

  // Phase 1: barriers, broadcast operands, and the first tiles on their way.
  if constexpr (C.load == GemmSmallLoad::bulk) {
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < C.stages; ++stage) barrier_init(stencil.barrier(stage), 1);
      barrier_init_fence();
    }
  }
  const long long step = gridDim.x;
  for (int stage = 0; stage < C.stages; ++stage) stencil.fill(blockIdx.x + stage * step, {stage, stage});
  stencil.keep_broadcast();
  __syncthreads();

  // Phase 2: tile after tile through the ring.
  typename Stencil::Place place;
  unsigned parity = 0;
  bool may_refill = Stencil::refill_lag == 0;  // with a lag the first turn has no older stage to fill
  for (long long tile = blockIdx.x; stencil.first(tile) < args.count; tile += step) {
    stencil.wait(place.stage, parity);
    stencil.multiply(tile, place);
    stencil.turn(tile, step, place, may_refill);
    may_refill = true;
    place.next();
    if (place.stage == 0) parity ^= 1;
  }

  // Phase 3: shared memory outlives the stores that read it.
  if constexpr (C.store == GemmSmallStore::bulk) {
    if (threadIdx.x == 0) bulk_store_wait_read<0>();
  }
}

}  // namespace tilewright
