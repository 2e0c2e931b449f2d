// Streaming loops that bound memory-bound kernels: c = a + b or c += a + b over long arrays of doubles of
// different lengths, by plain 16-byte accesses and by bulk copies through a ring of stages.
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/probe/stream_config.hpp"

namespace tilewright {

// Whole blocks walk the tiles of a plain loop, so that every operand's part of a tile is one run.
template <bool ReadsC>
__global__ void __launch_bounds__(256) gpu_stream_plain(const GpuStreamArgs args) {
  double2 rest{0, 0};
  for (long long tile = blockIdx.x; tile < args.tiles; tile += gridDim.x) {
    const double2* a = reinterpret_cast<const double2*>(args.a + tile * args.a_count);
    const double2* b = reinterpret_cast<const double2*>(args.b + tile * args.b_count);
    double2* c = reinterpret_cast<double2*>(args.c + tile * args.c_count);
#pragma unroll 4
    for (int i = threadIdx.x; i < args.longest / 2; i += 256) {
      double2 sum{0, 0};
      if (i < args.a_count / 2) sum = a[i];
      if (i < args.b_count / 2) {
        const double2 y = b[i];
        sum.x += y.x;
        sum.y += y.y;
      }
      if (i < args.c_count / 2) {
        if constexpr (ReadsC) {
          const double2 old = c[i];
          sum.x += old.x;
          sum.y += old.y;
        }
        c[i] = sum;
      } else {
        rest.x += sum.x;
        rest.y += sum.y;
      }
    }
  }
  if (rest.x == 1e300 && rest.y == 1e300) args.c[0] = 0;  // never: keeps the reads beyond c alive
}

// Bytes: of the longest operand's part of a tile. The order of steps is that of batched small GEMM.
template <bool ReadsC, int Bytes, int Stages, int Threads>
__global__ void __launch_bounds__(Threads) gpu_stream_bulk(const GpuStreamArgs args) {
  extern __shared__ __align__(128) unsigned char shared[];
  auto* barriers = reinterpret_cast<unsigned long long*>(shared + 3 * Bytes * Stages);
  const auto part = [&](int stage, int operand) {
    return reinterpret_cast<double*>(shared + (stage * 3 + operand) * Bytes);
  };
  const auto fill = [&](long long tile, int stage) {
    if (tile >= args.tiles) return;
    const unsigned a_bytes = args.a_count * 8u, b_bytes = args.b_count * 8u, c_bytes = args.c_count * 8u;
    barrier_arrive_expect(barriers + stage, a_bytes + b_bytes + (ReadsC ? c_bytes : 0u));
    if (a_bytes > 0) bulk_load(part(stage, 0), args.a + tile * args.a_count, a_bytes, barriers + stage);
    if (b_bytes > 0) bulk_load(part(stage, 1), args.b + tile * args.b_count, b_bytes, barriers + stage);
    if (ReadsC) bulk_load(part(stage, 2), args.c + tile * args.c_count, c_bytes, barriers + stage);
  };
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Stages; ++stage) barrier_init(barriers + stage, 1);
    barrier_init_fence();
    for (int stage = 0; stage < Stages; ++stage)
      fill(blockIdx.x + static_cast<long long>(stage) * gridDim.x, stage);
  }
  __syncthreads();
  int stage = 0;
  unsigned parity = 0;
  for (long long tile = blockIdx.x; tile < args.tiles; tile += gridDim.x) {
    barrier_wait(barriers + stage, parity);
    for (int i = threadIdx.x; i < args.c_count; i += Threads) {
      double sum = i < args.a_count ? part(stage, 0)[i] : 0.0;
      if (i < args.b_count) sum += part(stage, 1)[i];
      part(stage, 2)[i] = ReadsC ? part(stage, 2)[i] + sum : sum;
    }
    copy_engine_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(args.c + tile * args.c_count, part(stage, 2), args.c_count * 8u);
      bulk_store_commit();
      bulk_store_wait_read<1>();
      if (tile >= gridDim.x)
        fill(tile + static_cast<long long>(Stages - 1) * gridDim.x, stage == 0 ? Stages - 1 : stage - 1);
    }
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  if (threadIdx.x == 0) bulk_store_wait_read<0>();
}

}  // namespace tilewright
