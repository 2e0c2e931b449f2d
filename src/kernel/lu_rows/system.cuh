// What systems with an LU need beside products: the order that the swaps come to, rows taken in it, and the
// inverses of the triangles on the diagonal.
#pragma once

#include "kernel/lu_rows/invert.cuh"

namespace tilewright {

// Swaps depend on one another: one thread makes them, the others bring the pivots.
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

// A block has a run of rows of one column after the other.
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
  constexpr int warps = lu_rows_threads / 32;
  const int groups = (args.nb + warps - 1) / warps, blocks = (args.n + args.nb - 1) / args.nb;
  const int group = static_cast<int>(blockIdx.x) % groups, which = static_cast<int>(blockIdx.x) / groups;
  const int block = which % blocks, first = block * args.nb, n = min(args.nb, args.n - first);
  const LuInverted<T> what{args.lu + first + first * args.ld, args.ld, n,
                           args.inverses + static_cast<long long>(which) * args.nb * args.nb};
  T* const triangle = reinterpret_cast<T*>(shared);
  if (which < blocks)
    lu_invert<Parts, LuTriangle::unit_lower>(what, group, triangle);
  else
    lu_invert<Parts, LuTriangle::upper>(what, group, triangle);
}

}  // namespace tilewright
