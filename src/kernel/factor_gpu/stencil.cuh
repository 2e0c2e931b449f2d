// Factorizations, solves, inverses and determinants of many small matrices (factor_gpu/config.hpp). A block
// copies a tile of matrices into shared memory; groups of lanes factor them and solve with the factors; what
// the caller asks for is stored. Memory is the bound: every element passes once.
#pragma once

#include "kernel/factor_gpu/cholesky.cuh"
#include "kernel/factor_gpu/copy.cuh"
#include "kernel/factor_gpu/direct.cuh"
#include "kernel/factor_gpu/lu.cuh"
#include "kernel/factor_gpu/solve.cuh"

namespace tilewright {

template <class T, FactorGpuShape S, FactorGpuConfig C>
struct FactorGpuBlock {
  static constexpr int n = S.n, threads = factor_gpu_threads(C), matrices = factor_gpu_matrices(C);
  static constexpr int size = int(sizeof(T));
  static constexpr FactorGpuMemory memory = factor_gpu_memory(S, C, size);
  static constexpr FactorGpuTile tile_a = factor_gpu_tile_a(S, size), tile_b = factor_gpu_tile_b(S, size);
  static constexpr bool has_b = factor_gpu_has_b(S), is_lu = S.method == FactorGpuMethod::lu ||
                                                             S.method == FactorGpuMethod::lu_without_pivots;
  static constexpr bool has_half = S.method == FactorGpuMethod::cholesky ||
                                   S.solve == FactorGpuSolve::triangle || S.solve == FactorGpuSolve::cholesky;
  static constexpr FactorGpuPart part_of(bool half, bool by_rows) {
    if (!half) return FactorGpuPart::all;
    return by_rows ? FactorGpuPart::beginnings_of_lines : FactorGpuPart::ends_of_lines;
  }
  static constexpr FactorGpuPart part_a = part_of(has_half, S.a_by_rows);
  static constexpr FactorGpuPart part_b = part_of(S.half, S.b_by_rows);
  using CopiesA = FactorGpuCopies<T, tile_a, S.a_place, S.a_pieces, threads, matrices>;
  using CopiesB = FactorGpuCopies<T, tile_b, S.b_place, S.b_pieces, threads, matrices>;

  const FactorGpuArgs<T>& args;
  unsigned char* shared;

  __device__ __forceinline__ T* a(int stage) const {
    return reinterpret_cast<T*>(shared + stage * memory.a_bytes);
  }
  __device__ __forceinline__ T* b(int stage) const {
    return reinterpret_cast<T*>(shared + memory.b + stage * memory.b_bytes);
  }
  // The info of a matrix of the tile, then its pivots and the order of its rows.
  __device__ __forceinline__ int* ints(int matrix) const {
    return reinterpret_cast<int*>(shared + memory.integers) + matrix * memory.ints;
  }
  __device__ __forceinline__ int count(long long first) const {
    const long long left = args.count - first;
    return left < matrices ? int(left) : matrices;
  }

  __device__ __forceinline__ void load(int stage, long long first) const {
    CopiesA::template load<part_a>(a(stage), args.a, first, count(first));
    if constexpr (has_b && !S.identity)
      CopiesB::template load<FactorGpuPart::all>(b(stage), args.b, first, count(first));
  }
  __device__ __forceinline__ void load_pivots(long long first) const {
    const int here = count(first) * n;
    for (int e = threadIdx.x; e < matrices * n; e += threads)
      ints(e / n)[1 + e % n] = e < here ? args.pivots[first * n + e] : 1;
  }

  __device__ __forceinline__ int first_zero(const T* of) const {
    for (int i = 0; i < n; ++i)
      if (is_zero(of[i * (tile_a.pitch + 1)])) return i + 1;
    return 0;
  }
  __device__ __forceinline__ void store_determinant(const T* lu, bool is_odd, long long problem) const {
    FactorGpuProduct<T> pivots(from_real<T>(is_odd ? -1 : 1));
    for (int i = 0; i < n; ++i) pivots.multiply(lu[i * (tile_a.pitch + 1)]);
    args.det[problem] = pivots.value();
  }

  // The work of a group of lanes on its matrix.
  __device__ __forceinline__ void work(int stage, long long first) const {
    const int matrix = threadIdx.x / C.lanes, lane = threadIdx.x % C.lanes;
    T* const own = a(stage) + matrix * tile_a.distance;
    int* const own_ints = ints(matrix);
    int info = 0;
    if constexpr (S.method == FactorGpuMethod::cholesky) {
      FactorGpuCholesky<T, S, C> cholesky;
      cholesky.l = own, cholesky.lane = lane;
      info = cholesky.factor();
    } else if constexpr (is_lu) {
      FactorGpuLu<T, S, C> lu;
      lu.lu = own, lu.pivots = own_ints + 1, lu.lane = lane;
      info = lu.factor();
      if constexpr (S.writes_det)
        if (lane == 0 && first + matrix < args.count) store_determinant(own, lu.is_odd, first + matrix);
    } else if constexpr (S.checks_diagonal) {
      info = first_zero(own);
    }
    if (lane == 0) own_ints[0] = info;
    if constexpr (has_b) {
      FactorGpuSolver<T, S, C> solver;
      solver.a = own, solver.b = b(stage) + matrix * tile_b.distance, solver.lane = lane;
      solver.order = own_ints + 1 + n;
      if constexpr (S.exchanges) solver.find_order(own_ints + 1);
      if (info == 0) solver.run(args.alpha);
    }
  }

  __device__ __forceinline__ void store(int stage, long long first) const {
    const int here = count(first);
    if constexpr (S.writes_a)
      CopiesA::template store<(is_lu != S.a_by_rows), part_a>(a(stage), args.a, first, here,
                                                              [](int) { return false; });
    if constexpr (has_b)
      CopiesB::template store<false, part_b>(b(stage), args.b, first, here,
                                             [&](int matrix) { return ints(matrix)[0] != 0; });
    if constexpr (S.writes_a && S.exchanges)
      for (int e = threadIdx.x; e < here * n; e += threads)
        args.pivots[first * n + e] = ints(e / n)[1 + e % n];
    if (args.info == nullptr) return;
    for (int e = threadIdx.x; e < here; e += threads) {
      const int info = ints(e)[0];
      if (args.info_step != 0)
        args.info[first + e] = info;
      else if (info != 0)
        *args.info = info;
    }
  }
};

template <class T, FactorGpuShape S, FactorGpuConfig C>
__device__ __forceinline__ void factor_gpu_through_shared(const FactorGpuArgs<T>& args,
                                                          unsigned char* memory) {
  using Block = FactorGpuBlock<T, S, C>;
  const Block block{args, memory};
  const long long step = static_cast<long long>(gridDim.x) * Block::matrices;
  long long first = static_cast<long long>(blockIdx.x) * Block::matrices;
  if (C.stages > 1 && first < args.count) block.load(0, first);
  if (C.stages > 1) copy_async_commit();
  for (int stage = 0; first < args.count; first += step) {
    const long long next = C.stages > 1 ? first + step : first;
    if (next < args.count) block.load(C.stages > 1 ? stage ^ 1 : stage, next);
    copy_async_commit();
    if constexpr (S.exchanges && S.method == FactorGpuMethod::none) block.load_pivots(first);
    copy_async_wait<C.stages - 1>();
    __syncthreads();
    block.work(stage, first);
    __syncthreads();
    block.store(stage, first);
    __syncthreads();
    if (C.stages > 1) stage ^= 1;
  }
  copy_async_wait<0>();
}

template <class T, FactorGpuShape S, FactorGpuConfig C>
__global__ void __launch_bounds__(factor_gpu_threads(C), C.blocks_per_sm)
    factor_gpu(const FactorGpuArgs<T> args) {
  extern __shared__ __align__(128) unsigned char shared[];
  if constexpr (C.direct > 0)
    FactorGpuDirect<T, S, C>::run(args);
  else
    factor_gpu_through_shared<T, S, C>(args, shared);
}

}  // namespace tilewright
