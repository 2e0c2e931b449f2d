// Multiply-add loops that bound what compute-bound kernels can reach: independent chains in registers, and
// for doubles the tensor cores' own. They compute nothing of use.
#pragma once

namespace tilewright {

// 2 * 16 * Turns operations per thread.
template <class R, int Turns>
__global__ void __launch_bounds__(256) gpu_multiply_plain(R* out, R x, R y) {
  R sums[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) sums[i] = static_cast<R>(i + threadIdx.x);
  for (int turn = 0; turn < Turns; ++turn)
#pragma unroll
    for (int i = 0; i < 16; ++i) sums[i] = sums[i] * x + y;
  R sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += sums[i];
  if (sum == static_cast<R>(-1)) *out = sum;  // never: keeps the chains alive
}

// 2 * 8 * 8 * 4 * 8 * Turns operations per warp.
template <int Turns>
__global__ void __launch_bounds__(256) gpu_multiply_tensor(double* out, double x, double y) {
  double sums[8][2];
#pragma unroll
  for (int i = 0; i < 8; ++i) sums[i][0] = sums[i][1] = i + threadIdx.x;
  for (int turn = 0; turn < Turns; ++turn)
#pragma unroll
    for (int i = 0; i < 8; ++i)
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(sums[i][0]), "+d"(sums[i][1])
                   : "d"(x), "d"(y));
  double sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum += sums[i][0] + sums[i][1];
  if (sum == -1.0) *out = sum;
}

}  // namespace tilewright
