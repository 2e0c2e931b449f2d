// Solves with triangles in device memory: a block of threads holds some right sides in shared memory, solves
// with one block of the triangle at a time, a column by a warp, and subtracts its part from the other rows.
#pragma once

#include "kernel/factor_gpu_large/update.cuh"

namespace tilewright {

template <class T, FactorGpuShape S, FactorLargeSolveConfig C>
struct FactorLargeSolver {
  static constexpr int threads = C.threads, warps = threads / 32, sides = C.sides, block = factor_large_block,
                       triangle_pitch = block + 1, tile_rows = 32 * factor_large_solved_rows,
                       tile_pitch = factor_large_tile_pitch(int(sizeof(T)));
  // A thread has all of few right sides in one row, and warps without a column wait while others solve.
  static constexpr bool are_few = sides <= 4;
  static constexpr int columns = sides < warps ? 1 : sides / warps;  // of a warp
  static_assert(sides % columns == 0 && (are_few || sides % warps == 0));
  static constexpr bool by_tensor_cores = factor_large_by_tensor_cores<T> && sides % 8 == 0;
  static constexpr int mma_cols = sides % 32 == 0 && warps <= 4 ? 4 : sides % 16 == 0 ? 2 : 1;
  template <bool Trans>
  static constexpr bool is_direct = by_tensor_cores || S.a_by_rows == Trans;
  template <bool Conj>
  using Tile = typename FactorLargeChoice<
      by_tensor_cores, FactorLargeMmaTile<2, mma_cols, warps>,
      FactorLargeTile<T, are_few ? 1 : factor_large_solved_rows, are_few ? sides : columns,
                      are_few ? threads : 32, are_few ? 1 : warps, false, false, Conj>>::Type;
  using A = FactorLargeView<T, S.a_by_rows, long long>;

  const FactorLargeArgs<T>& args;
  unsigned char* shared;
  FactorLargeSolveMemory memory;
  A a;

  __device__ __forceinline__ T* x() const { return reinterpret_cast<T*>(shared); }
  __device__ __forceinline__ T* triangle() const { return reinterpret_cast<T*>(shared + memory.triangle); }
  __device__ __forceinline__ T* tile() const { return reinterpret_cast<T*>(shared + memory.tile); }
  // Row i of the right sides is row order()[i] of B.
  __device__ __forceinline__ int* order() const { return reinterpret_cast<int*>(shared + memory.order); }

  // Copies rows x cols of op(A) from (row, col) on.
  template <bool Trans, bool Conj>
  __device__ __forceinline__ void load(T* to, int pitch, int row, int rows, int col, int cols) const {
    factor_large_each<S.a_by_rows != Trans, threads>(rows, cols, [&](int i, int k) {
      const T& from = Trans ? a.at(col + k, row + i) : a.at(row + i, col + k);
      to[k * pitch + i] = conjugate_if<Conj>(from);
    });
  }

  // Solves rows [first, first + width) of the right sides with the block of the triangle in shared memory.
  template <bool Forward, bool Unit>
  __device__ __forceinline__ void solve_block(int first, int width) const {
    const int lane = threadIdx.x % 32;
    if (threadIdx.x / 32 >= sides / columns) return;
    const T* const t = triangle();
    const FactorGpuInverse<T> inverse(lane < width && !Unit ? t[lane * (triangle_pitch + 1)]
                                                            : from_real<T>(1));
    T* const mine = x() + first + lane;
    T held[columns];
#pragma unroll
    for (int s = 0; s < columns; ++s)
      held[s] = lane < width ? mine[(threadIdx.x / 32 + warps * s) * memory.pitch] : zero<T>();
    for (int step = 0; step < width; ++step) {
      const int k = Forward ? step : width - 1 - step;
      const bool is_behind = (Forward ? lane > k : lane < k) && lane < width;
      const T factor = is_behind ? negative(t[k * triangle_pitch + lane]) : zero<T>();
#pragma unroll
      for (int s = 0; s < columns; ++s) {
        if constexpr (!Unit)
          if (lane == k) held[s] = inverse.times(held[s]);
        const T known = value_of_lane(held[s], k);
        if (is_behind) multiply_add(held[s], factor, known);
      }
    }
#pragma unroll
    for (int s = 0; s < columns; ++s)
      if (lane < width) mine[(threadIdx.x / 32 + warps * s) * memory.pitch] = held[s];
  }

  // Subtracts from rows [begin, end) what rows [first, first + width) of the solution make of them. A warp
  // reads each of its lines' elements of A once, so that they need not pass through shared memory, if its
  // lanes read neighbours: in products by tensor cores always.
  template <bool Trans, bool Conj>
  __device__ __forceinline__ void subtract(int begin, int end, int first, int width) const {
    const FactorLargeView<T, false, int> work{x(), memory.pitch, 1};
    if constexpr (is_direct<Trans>) {
      const T& corner = Trans ? a.at(first, begin) : a.at(begin, first);
      const long long row = S.a_by_rows != Trans ? a.line : a.element,
                      col = S.a_by_rows != Trans ? a.element : a.line;
      if (begin < end)
        factor_large_subtract<Tile<Conj>, false>(
            work, begin, 0, end - begin, sides,
            FactorLargeFactors<T, long long>{&corner, row, col, x() + first, 1, memory.pitch, width});
      __syncthreads();
    } else {
      for (int row = begin; row < end; row += tile_rows) {
        const int rows = row + tile_rows < end ? tile_rows : end - row;
        load<Trans, false>(tile(), tile_pitch, row, rows, first, width);
        __syncthreads();
        factor_large_subtract<Tile<Conj>, false>(
            work, row, 0, rows, sides,
            FactorLargeFactors<T>{tile(), 1, tile_pitch, x() + first, 1, memory.pitch, width});
        __syncthreads();
      }
    }
  }

  // x := (op of the lower or upper triangle of A)^-1 x.
  template <bool Lower, bool Trans, bool Conj, bool Unit>
  __device__ __forceinline__ void solve_triangle() const {
    constexpr bool forward = Lower != Trans;
    const int blocks = (args.n + block - 1) / block;
    for (int step = 0; step < blocks; ++step) {
      const int first = (forward ? step : blocks - 1 - step) * block;
      const int width = first + block < args.n ? block : args.n - first;
      load<Trans, Conj>(triangle(), triangle_pitch, first, width, first, width);
      __syncthreads();
      solve_block<forward, Unit>(first, width);
      __syncthreads();
      subtract<Trans, Conj>(forward ? first + width : 0, forward ? args.n : first, first, width);
    }
  }

  __device__ __forceinline__ void solve() const {
    if constexpr (S.solve == FactorGpuSolve::triangle) {
      solve_triangle<true, S.trans, S.conj, S.unit>();
    } else if constexpr (S.solve == FactorGpuSolve::cholesky) {
      solve_triangle<true, false, S.conj, false>();
      solve_triangle<true, true, !S.conj, false>();
    } else if constexpr (S.trans) {
      solve_triangle<false, true, S.conj, false>();
      solve_triangle<true, true, S.conj, true>();
    } else {
      solve_triangle<true, false, S.conj, true>();
      solve_triangle<false, false, S.conj, false>();
    }
  }

  // Turns pivots, which count from 1, into the order of rows. What is no number of a row exchanges nothing.
  __device__ __forceinline__ void find_order(long long problem) const {
    int* const pivot = order() + args.n;
    for (int i = threadIdx.x; i < args.n; i += threads)
      order()[i] = i, pivot[i] = args.pivots[problem * args.n + i] - 1;
    __syncthreads();
    if (threadIdx.x == 0)
      for (int k = 0; k < args.n; ++k) {
        const int p = pivot[k];
        if (p < 0 || p >= args.n || p == k) continue;
        const int kept = order()[k];
        order()[k] = order()[p], order()[p] = kept;
      }
    __syncthreads();
  }

  __device__ __forceinline__ void run(long long problem, int side) const {
    if (args.codes != nullptr && args.codes[problem] != 0) return;
    if (args.codes == nullptr && args.info != nullptr && args.info_step != 0 && side == 0 && threadIdx.x == 0)
      args.info[problem] = 0;
    if constexpr (S.exchanges) find_order(problem);
    const auto b = factor_large_view<T, S.b_place, S.b_by_rows>(args.b, problem);
    const int cols = side + sides < args.nrhs ? sides : args.nrhs - side;
    const bool is_nothing = S.scales && is_zero(args.alpha);  // hides what is no number
    factor_large_each<S.b_by_rows, threads>(args.n, sides, [&](int i, int c) {
      const int from = S.exchanges && !S.trans ? order()[i] : i;
      T value = zero<T>();
      if constexpr (S.identity) {
        if (from == side + c) value = from_real<T>(1);
      } else if (c < cols && !is_nothing) {
        value = b.at(from, side + c);
        if constexpr (S.scales) value = product_of(args.alpha, value);
      }
      x()[c * memory.pitch + i] = value;
    });
    __syncthreads();
    if (!is_nothing) solve();
    factor_large_each<S.b_by_rows, threads>(args.n, cols, [&](int i, int c) {
      if (!S.half || i >= side + c)
        b.at(S.exchanges && S.trans ? order()[i] : i, side + c) = x()[c * memory.pitch + i];
    });
  }
};

}  // namespace tilewright
