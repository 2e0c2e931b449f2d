// Solves with triangles in shared memory: each thread takes whole right sides, which it holds in registers.
#pragma once

#include "kernel/factor_gpu/arithmetic.cuh"
#include "kernel/factor_gpu/config.hpp"

namespace tilewright {

template <class T, FactorGpuShape S, FactorGpuConfig C>
struct FactorGpuSolver {
  static constexpr int n = S.n, lanes = C.lanes, size = int(sizeof(T));
  static constexpr int pitch = factor_gpu_tile_a(S, size).pitch;
  static constexpr FactorGpuTile tile_b = factor_gpu_tile_b(S, size);
  // Element (i, j) of what is solved with lies at i * row_step + j * column_step.
  static constexpr bool lies_by_rows =
      S.method == FactorGpuMethod::none ? S.a_by_rows : S.method != FactorGpuMethod::cholesky;
  static constexpr int row_step = lies_by_rows ? pitch : 1, column_step = lies_by_rows ? 1 : pitch;

  const T* a;
  T* b;
  int* order;  // row i of the right sides is row order[i] of B
  int lane;

  __device__ __forceinline__ T& element(int i, int c) const {
    return b[S.b_by_rows ? i * tile_b.pitch + c : c * tile_b.pitch + i];
  }

  // x := (op of the lower or upper triangle)^-1 x.
  template <bool Lower, bool Trans, bool Conj, bool Unit>
  __device__ __forceinline__ void triangle(T (&x)[n]) const {
    constexpr bool forward = Lower != Trans;
#pragma unroll
    for (int step = 0; step < n; ++step) {
      const int k = forward ? step : n - 1 - step;
      if constexpr (!Unit) x[k] = quotient(x[k], conjugate_if<Conj>(a[k * (row_step + column_step)]));
      const T known = negative(x[k]);
#pragma unroll
      for (int i = 0; i < n; ++i)
        if (forward ? i > k : i < k)
          multiply_add(
              x[i],
              conjugate_if<Conj>(a[Trans ? k * row_step + i * column_step : i * row_step + k * column_step]),
              known);
    }
  }

  __device__ __forceinline__ void solve(T (&x)[n]) const {
    if constexpr (S.solve == FactorGpuSolve::triangle) {
      triangle<true, S.trans, S.conj, S.unit>(x);
    } else if constexpr (S.solve == FactorGpuSolve::cholesky) {
      triangle<true, false, S.conj, false>(x);
      forget_memory();
      triangle<true, true, !S.conj, false>(x);
    } else if constexpr (S.trans) {
      triangle<false, true, S.conj, false>(x);
      forget_memory();
      triangle<true, true, S.conj, true>(x);
    } else {
      triangle<true, false, S.conj, true>(x);
      forget_memory();
      triangle<false, false, S.conj, false>(x);
    }
  }

  // Turns pivots, which count from 1, into the order of rows. What is no number of a row exchanges nothing.
  __device__ __forceinline__ void find_order(const int* pivots) const {
    if (lane == 0) {
      for (int i = 0; i < n; ++i) order[i] = i;
      for (int k = 0; k < n; ++k) {
        const int p = pivots[k] - 1;
        if (p < 0 || p >= n) continue;
        const int kept = order[k];
        order[k] = order[p], order[p] = kept;
      }
    }
    if constexpr (lanes > 1) __syncwarp();
  }

  __device__ __forceinline__ void run(T alpha) const {
    const bool is_nothing = S.scales && is_zero(alpha);  // hides what is no number
    for (int c = lane; c < S.nrhs; c += lanes) {
      T x[n];
#pragma unroll
      for (int i = 0; i < n; ++i) {
        const int from = S.exchanges && !S.trans ? order[i] : i;
        if constexpr (S.identity)
          x[i] = from == c ? from_real<T>(1) : zero<T>();
        else
          x[i] = element(from, c);
        if constexpr (S.scales) x[i] = is_nothing ? zero<T>() : product_of(alpha, x[i]);
      }
      if (!is_nothing) solve(x);
#pragma unroll
      for (int i = 0; i < n; ++i) element(S.exchanges && S.trans ? order[i] : i, c) = x[i];
    }
  }
};

}  // namespace tilewright
