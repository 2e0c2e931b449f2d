// Streaming loops that bound what memory-bound kernels can reach: c = a + b or c += a + b over long arrays of
// doubles, once with plain 16-byte accesses and once through bulk copies and a ring of stages. They compute
// nothing of use.
#pragma once

#include "kernel/gpu_copy.cuh"

namespace tilewright {

struct GpuStreamArgs {
  const double* a;
  const double* b;
  double* c;
  long long count;  // doubles in each array; a multiple of a tile
};

template <bool ReadsC>
__global__ void __launch_bounds__(256) gpu_stream_plain(const GpuStreamArgs args) {
  const double2* a = reinterpret_cast<const double2*>(args.a);
  const double2* b = reinterpret_cast<const double2*>(args.b);
  double2* c = reinterpret_cast<double2*>(args.c);
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < args.count / 2;
       i += step) {
    const double2 x = a[i], y = b[i];
    double2 sum{x.x + y.x, x.y + y.y};
    if constexpr (ReadsC) {
      const double2 old = c[i];
      sum.x += old.x;
      sum.y += old.y;
    }
    c[i] = sum;
  }
}

// Bytes: of one operand's tile. The same order of turns as batched small GEMM's.
template <bool ReadsC, int Bytes, int Stages, int Threads>
__global__ void __launch_bounds__(Threads) gpu_stream_bulk(const GpuStreamArgs args) {
  extern __shared__ __align__(128) unsigned char shared[];
  constexpr int per_tile = Bytes / 8;
  auto* barriers = reinterpret_cast<unsigned long long*>(shared + 3 * Bytes * Stages);
  const auto part = [&](int stage, int operand) {
    return reinterpret_cast<double*>(shared + (stage * 3 + operand) * Bytes);
  };
  const auto fill = [&](long long tile, int stage) {
    if (tile * per_tile >= args.count) return;
    barrier_arrive_expect(barriers + stage, (ReadsC ? 3 : 2) * Bytes);
    bulk_load(part(stage, 0), args.a + tile * per_tile, Bytes, barriers + stage);
    bulk_load(part(stage, 1), args.b + tile * per_tile, Bytes, barriers + stage);
    if (ReadsC) bulk_load(part(stage, 2), args.c + tile * per_tile, Bytes, barriers + stage);
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
  for (long long tile = blockIdx.x; tile * per_tile < args.count; tile += gridDim.x) {
    barrier_wait(barriers + stage, parity);
    for (int i = threadIdx.x; i < per_tile; i += Threads)
      part(stage, 2)[i] = part(stage, 0)[i] + part(stage, 1)[i] + (ReadsC ? part(stage, 2)[i] : 0.0);
    copy_engine_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(args.c + tile * per_tile, part(stage, 2), Bytes);
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
