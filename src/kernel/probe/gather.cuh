// A loop over the matrices of a pointer batch that multiplies nothing: c += a + b over the 32-byte sectors of
// each problem's matrices, where they lie. What device memory gives for short pieces at random places bounds
// pointer batches more closely than streaming does.
#pragma once

#include "kernel/probe/gather_config.hpp"

namespace tilewright {

// Pieces of 16 bytes of each operand's matrix, whole sectors of them.
template <int PiecesA, int PiecesB, int PiecesC, bool ReadsC>
__global__ void __launch_bounds__(gpu_gather_threads) gpu_gather(const GpuGatherArgs args) {
  constexpr int most =
      PiecesA > PiecesB ? (PiecesA > PiecesC ? PiecesA : PiecesC) : (PiecesB > PiecesC ? PiecesB : PiecesC);
  const long long total = args.count * most, step = static_cast<long long>(gridDim.x) * gpu_gather_threads;
  float rest = 0;
  for (long long t = static_cast<long long>(blockIdx.x) * gpu_gather_threads + threadIdx.x; t < total;
       t += step) {
    const long long q = t / most;
    const int piece = static_cast<int>(t % most);
    float4 sum{0, 0, 0, 0};
    const auto add = [&](float4 x) {
      sum.x += x.x;
      sum.y += x.y;
      sum.z += x.z;
      sum.w += x.w;
    };
    if (piece < PiecesA) add(static_cast<const float4*>(args.a[q])[piece]);
    if (piece < PiecesB) add(static_cast<const float4*>(args.b[q])[piece]);
    if (piece < PiecesC) {
      float4* const c = static_cast<float4*>(args.c[q]) + piece;
      if constexpr (ReadsC) add(*c);
      *c = sum;
    } else {
      rest += sum.x + sum.y + sum.z + sum.w;
    }
  }
  if (rest == 1e30f)
    *static_cast<float4*>(args.c[0]) = float4{0, 0, 0, 0};  // never: keeps the reads beyond c alive
}

}  // namespace tilewright
