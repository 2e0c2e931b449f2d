// Multiply-add loops that bound compute-bound kernels: chains in registers, and tensor cores for doubles.
#pragma once

namespace tilewright {

// Runs 2 * 16 * Turns operations per thread.
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

// Runs 2 * Rows * 8 * 4 * 8 * Turns operations per warp, in products of Rows x 8 x 4: 8 rows, 16 on sm_90.
template <int Rows, int Turns>
__global__ void __launch_bounds__(256) gpu_multiply_tensor(double* out, double x, double y) {
  constexpr int held = Rows / 4;  // sums of a product per thread
  double sums[8][held];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < held; ++j) sums[i][j] = i + threadIdx.x;
  for (int turn = 0; turn < Turns; ++turn)
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if constexpr (Rows == 8)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(sums[i][0]), "+d"(sums[i][1])
                     : "d"(x), "d"(y));
      else
        asm volatile(
            "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %4}, {%5}, {%0, %1, %2, "
            "%3};"
            : "+d"(sums[i][0]), "+d"(sums[i][1]), "+d"(sums[i][2]), "+d"(sums[i][3])
            : "d"(x), "d"(y));
    }
  double sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < held; ++j) sum += sums[i][j];
  if (sum == -1.0) *out = sum;
}

}  // namespace tilewright
