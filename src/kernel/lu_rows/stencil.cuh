// Kernels of a step of blocked LU beside the panel and the products: row moves, the small triangular solve,
// and the inverse of a panel's triangle for the large solve.
#pragma once

#include "kernel/common/element.cuh"
#include "kernel/lu_panel/config.hpp"
#include "kernel/lu_panel/device.cuh"
#include "kernel/lu_panel/pivot.cuh"
#include "kernel/lu_rows/config.hpp"
#include "kernel/lu_rows/invert.cuh"

namespace tilewright {

// A group of threads has a column at a time, a thread one move of the longest list.
template <class T, int Moves>
__global__ void __launch_bounds__(lu_rows_threads) lu_swap(const LuSwapArgs<T> args) {
  static_assert(lu_rows_threads % Moves == 0);
  constexpr int groups = lu_rows_threads / Moves;
  const int move = threadIdx.x % Moves;
  const long long step = static_cast<long long>(gridDim.x) * groups;
  for (long long first = static_cast<long long>(blockIdx.x) * groups; first < args.columns; first += step) {
    const long long column = first + threadIdx.x / Moves;
    T* const b = args.a + column * args.ld;
    for (int i = 0; i < args.lists; ++i) {
      const int* const list = args.moves + static_cast<long long>(i) * args.list_ints;
      const bool is_moved = !args.of_own_block || i > column / args.rows_apart;
      const bool takes_part = is_moved && column < args.columns && move < list[0];
      const long long shift = static_cast<long long>(i) * args.rows_apart;
      T value = zero<T>();
      if (takes_part) value = b[list[2 + 2 * move] + shift];
      __syncthreads();
      if (takes_part) b[list[3 + 2 * move] + shift] = value;
      __syncthreads();
    }
  }
}

// A warp has a column at a time, a lane a row of the triangle.
template <class T, int Moves>
__global__ void __launch_bounds__(lu_rows_threads) lu_solve(const LuSolveArgs<T> args) {
  constexpr int most = 32;
  extern __shared__ __align__(16) unsigned char shared[];
  T* const l = reinterpret_cast<T*>(shared);
  for (int i = threadIdx.x; i < most * most; i += lu_rows_threads) {
    const int row = i % most, column = i / most;
    l[i] = row > column && row < args.n ? args.l[row + column * args.l_ld] : zero<T>();
  }
  __syncthreads();
  const int lane = threadIdx.x % 32, warps = lu_rows_threads / 32;
  const int moves = args.moves == nullptr ? 0 : args.moves[0];
  const long long step = static_cast<long long>(gridDim.x) * warps;
  for (long long column = static_cast<long long>(blockIdx.x) * warps + threadIdx.x / 32;
       column < args.columns; column += step) {
    T* const b = args.b + column * args.ld;
    constexpr int each = (Moves + 31) / 32;
    T moved[each];
#pragma unroll
    for (int i = 0; i < each; ++i)
      if (lane + 32 * i < moves) moved[i] = b[args.moves[2 + 2 * (lane + 32 * i)]];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < each; ++i)
      if (lane + 32 * i < moves) b[args.moves[3 + 2 * (lane + 32 * i)]] = moved[i];
    __syncwarp();
    T x = lane < args.n ? b[lane] : zero<T>();
    for (int k = 0; k < args.n; ++k) multiply_subtract(x, l[k * most + lane], lane_value(x, k));
    if (lane < args.n) b[lane] = x;
  }
}

// A block has a run of rows of a few columns at a time, to keep the memory busy.
template <class T>
__global__ void __launch_bounds__(lu_rows_threads) lu_copy(const LuCopyArgs<T> args) {
  constexpr int each = lu_copied_columns;
  const unsigned runs = static_cast<unsigned>((args.rows + lu_rows_threads - 1) / lu_rows_threads);
  const unsigned all = runs * static_cast<unsigned>((args.columns + each - 1) / each);
  for (unsigned i = blockIdx.x; i < all; i += gridDim.x) {
    const long long row = static_cast<long long>(i % runs) * lu_rows_threads + threadIdx.x;
    const long long first = static_cast<long long>(i / runs) * each;
    if (row >= args.rows) continue;
    T values[each];
#pragma unroll
    for (int c = 0; c < each; ++c)
      if (first + c < args.columns) values[c] = args.from[row + (first + c) * args.from_ld];
#pragma unroll
    for (int c = 0; c < each; ++c)
      if (first + c < args.columns) args.to[row + (first + c) * args.to_ld] = values[c];
  }
}

// A block has a column at a time, a thread some of the moves.
template <class T>
__global__ void __launch_bounds__(lu_rows_threads) lu_move(const LuMoveArgs<T> args) {
  constexpr int each = lu_most_moves / lu_rows_threads;
  const int count = args.moves[0];
  int from[each], to[each];
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int move = threadIdx.x + i * lu_rows_threads;
    from[i] = move < count ? args.moves[2 + 2 * move] : -1;
    to[i] = move < count ? args.moves[3 + 2 * move] : -1;
  }
  for (long long column = blockIdx.x; column < args.columns; column += gridDim.x) {
    T* const b = args.a + column * args.ld;
    T moved[each];
#pragma unroll
    for (int i = 0; i < each; ++i)
      if (from[i] >= 0) moved[i] = b[from[i]];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < each; ++i)
      if (to[i] >= 0) b[to[i]] = moved[i];
  }
}

// One thread's part of a list, fetched ahead.
struct LuListed {
  int count, from, to;

  template <class T>
  __device__ LuListed(const LuCloseArgs<T>& args, int list) : count(0), from(0), to(0) {
    const int move = threadIdx.x;
    if (list >= args.lists || 2 + 2 * move >= args.list_ints) return;
    const int* const ints = args.moves + list * args.list_ints;
    count = ints[0];
    if (move < count) from = ints[2 + 2 * move], to = ints[3 + 2 * move];
  }
};

// Applies the lists in order to find the origin of each row; moved rows form the result. Runs in one block.
template <class T>
__device__ void lu_merge(const LuCloseArgs<T>& args, int* origin) {
  LuListed next(args, 0);
  for (int row = threadIdx.x; row < args.m; row += lu_rows_threads) origin[row] = row;
  if (threadIdx.x == 0) args.merged[0] = 0;
  __syncthreads();
  for (int i = 0; i < args.lists; ++i) {
    const LuListed listed = next;
    next = LuListed(args, i + 1);
    const bool moves = static_cast<int>(threadIdx.x) < listed.count;
    const int shift = i * args.rows_apart;
    int row = 0;
    if (moves) row = origin[listed.from + shift];
    __syncthreads();
    if (moves) origin[listed.to + shift] = row;
    __syncthreads();
  }
  for (int row = threadIdx.x; row < args.m; row += lu_rows_threads)
    if (origin[row] != row) {
      const int at = add_to(args.merged, 1);
      args.merged[2 + 2 * at] = origin[row];
      args.merged[3 + 2 * at] = row;
    }
}

// The last block merges the lists, the others invert.
template <class T, int Parts>
__global__ void __launch_bounds__(lu_rows_threads) lu_close(const LuCloseArgs<T> args) {
  extern __shared__ __align__(16) unsigned char shared[];
  if (blockIdx.x + 1 == gridDim.x)
    lu_merge(args, args.origin != nullptr ? args.origin : reinterpret_cast<int*>(shared));
  else
    lu_invert<Parts, LuTriangle::unit_lower>(LuInverted<T>{args.l, args.ld, args.n, args.inverse},
                                             static_cast<int>(blockIdx.x), reinterpret_cast<T*>(shared));
}

}  // namespace tilewright
