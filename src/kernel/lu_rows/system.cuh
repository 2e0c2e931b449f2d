// Kernels for systems with an LU: its swaps' permutation, permuted rows, inverses of diagonal triangles.
#pragma once

#include "kernel/lu_rows/invert.cuh"

namespace tilewright {

// Swaps depend on one another: one thread applies them, the others load the pivots.
template <class T>
__global__ void __launch_bounds__(lu_rows_threads) lu_order(const LuOrderArgs args) {
  extern __shared__ __align__(16) unsigned char shared[];
  int* const coming = reinterpret_cast<int*>(shared);
  int* const order = args.in_shared ? coming + lu_rows_threads : args.order;
  for (int i = threadIdx.x; i < args.n; i += lu_rows_threads) order[i] = i;
  for (int begin = 0; begin < args.n; begin += lu_rows_threads) {
    __syncthreads();
    const int mine = begin + threadIdx.x;
    if (mine < args.n) coming[threadIdx.x] = static_cast<int>(args.pivots[mine] - 1);
    __syncthreads();
    if (threadIdx.x != 0) continue;
    for (int j = begin; j < min(begin + lu_rows_threads, args.n); ++j) {
      const int other = coming[j - begin], kept = order[j];
      order[j] = order[other];
      order[other] = kept;
    }
  }
  __syncthreads();
  if (args.in_shared)
    for (int i = threadIdx.x; i < args.n; i += lu_rows_threads) args.order[i] = order[i];
}

// A block has runs of rows of one column after the other.
template <class T>
__global__ void __launch_bounds__(lu_rows_threads) lu_take(const LuTakeArgs<T> args) {
  const int runs = (args.n + lu_rows_threads - 1) / lu_rows_threads;
  for (long long i = blockIdx.x; i < runs * args.columns; i += gridDim.x) {
    const int row = static_cast<int>(i % runs) * lu_rows_threads + threadIdx.x;
    const long long column = i / runs;
    if (row >= args.n) continue;
    const T* const from = args.from + column * args.from_ld;
    T* const to = args.to + column * args.to_ld;
    const int other = args.order[row];
    if (args.back)
      to[other] = from[row];
    else
      to[row] = from[other];
  }
}

template <class T, int Parts>
__global__ void __launch_bounds__(lu_rows_threads) lu_invert_diagonal(const LuInvertArgs<T> args) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int groups = lu_inverse_groups(args.nb), blocks = (args.n + args.nb - 1) / args.nb;
  const int group = static_cast<int>(blockIdx.x) % groups, which = static_cast<int>(blockIdx.x) / groups;
  const int block = which % blocks, first = block * args.nb, n = min(args.nb, args.n - first);
  const LuInverted<T> what{args.lu + first + first * args.ld, args.ld, n,
                           args.inverses + static_cast<long long>(which) * args.nb * args.nb};
  T* const triangle = reinterpret_cast<T*>(shared);
  if (which < blocks) {
    lu_invert<Parts, LuTriangle::unit_lower>(what, group, triangle);
    return;
  }
  int* const told = args.must_divide + block * groups + group;
  if (threadIdx.x == 0) *told = 0;
  bool divides = !lu_invert<Parts, LuTriangle::upper>(what, group, triangle);
  const int i = threadIdx.x;
  if (group == 0 && i < n) divides = divides || lu_must_divide(what.triangle[i + i * what.ld]);
  __syncthreads();
  if (divides) *told = 1;
}

template <class T>
__device__ __forceinline__ T lu_element(const LuDivideArgs<T>& args, int row, int column) {
  const T value = args.op == 0 ? args.u[row + column * args.ld] : args.u[column + row * args.ld];
  return args.op == 2 ? conjugate_if<true>(value) : value;
}

// A block has a column at a time, a thread one of its rows.
template <class T>
__global__ void __launch_bounds__(lu_rows_threads) lu_divide(const LuDivideArgs<T> args) {
  extern __shared__ __align__(16) unsigned char shared[];
  T& known = *reinterpret_cast<T*>(shared);
  bool divides = false;
  for (int i = 0; i < args.groups; ++i) divides = divides || args.must_divide[i] != 0;
  if (!divides) return;
  const int row = threadIdx.x;
  for (long long column = blockIdx.x; column < args.columns; column += gridDim.x) {
    T x = zero<T>();
    if (row < args.n) x = args.b[row + column * args.b_ld];
    for (int step = 0; step < args.n; ++step) {
      const int k = args.op == 0 ? args.n - 1 - step : step;
      if (row == k) known = x = lu_quotient(x, lu_element(args, k, k));
      __syncthreads();
      const bool is_left = args.op == 0 ? row < k : row > k && row < args.n;
      if (is_left) multiply_subtract(x, lu_element(args, row, k), known);
      __syncthreads();
    }
    if (row < args.n) args.x[row + column * args.x_ld] = x;
  }
}

}  // namespace tilewright
