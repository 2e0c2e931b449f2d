// The stencil of batched small GEMM on the GPU: C = alpha op(A) op(B) + beta C for matrices whose (largest)
// sizes are compile-time constants. A block walks over tiles of the batch: operands come through a ring of
// shared-memory stages, each thread computes small blocks of C, and results are stored as configured.
#pragma once

#include "kernel/gemm_small/ring.cuh"
#include "kernel/gemm_small/sums.cuh"

namespace tilewright {

// Problems of their own sizes: each warp works through its part of the block's tiles.
template <class T, GemmSmallShape S, GemmSmallConfig C>
__device__ __forceinline__ void gemm_small_by_rings(const GemmSmallTile<T, S, C>& all) {
  GemmSmallRing<T, S, C> ring{all};
  ring.prepare();
  for (long long tile = blockIdx.x; all.first(tile) < all.args.count; tile += gridDim.x) {
    all.read_entries(tile);
    ring.run(tile);
    __syncthreads();  // the entries have been read
  }
}

template <class T, GemmSmallShape S, GemmSmallConfig C>
__device__ __forceinline__ void gemm_small_by_stages(const GemmSmallTile<T, S, C>& all) {
  using Tile = GemmSmallTile<T, S, C>;
  // Phase 1: barriers, broadcast operands, and the loads of the first tiles.
  if constexpr (C.load == GemmSmallLoad::bulk) {
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < C.stages; ++stage) barrier_init(all.barrier(stage), Tile::arrivals);
      barrier_init_fence();
    }
    __syncwarp();
  }
  const long long step = gridDim.x;
  all.read_first_entries(step);
  for (int stage = 0; stage < C.stages; ++stage)
    all.fill(blockIdx.x + stage * step, step, {stage, stage, stage});
  all.template keep<Tile::a>();
  all.template keep<Tile::b>();
  __syncthreads();

  // Phase 2: the tiles, through the ring.
  GemmSmallPlace<S, C> place;
  unsigned parity = 0;
  bool may_refill = Tile::Place::refill_lag == 0;  // with a lag the first turn has no older stage to fill
  for (long long tile = blockIdx.x; all.first(tile) < all.args.count; tile += step) {
    all.wait(place.stage, parity);
    if (may_refill) all.judge(tile + step * (C.stages - Tile::Place::refill_lag), place.refilled());
    all.multiply(tile, place);
    all.turn(tile, step, place, may_refill);
    may_refill = true;
    place.next();
    if (place.stage == 0) parity ^= 1;
  }

  // Phase 3: shared memory must outlive the stores that read it.
  if constexpr (C.store == GemmSmallStore::bulk) {
    if (threadIdx.x < 32) bulk_store_wait_read<0>();
  }
}

template <class T, GemmSmallShape S, GemmSmallConfig C>
__global__ void __launch_bounds__(C.threads, C.blocks_per_sm) gemm_small(const GemmSmallArgs<T> args) {
  extern __shared__ __align__(128) unsigned char shared[];
  if constexpr (S.sums != GemmSmallSums::none) {
    gemm_small_by_sums<T, S, C>(args, shared);
  } else {
    const GemmSmallTile<T, S, C> all{args, shared};
    if constexpr (gemm_small_rings(S, C))
      gemm_small_by_rings(all);
    else
      gemm_small_by_stages(all);
  }
}

}  // namespace tilewright
