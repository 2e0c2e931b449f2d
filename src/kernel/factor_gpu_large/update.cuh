// Products of factors that a block of threads subtracts from a matrix, in tiles that lie in registers, while
// the elements that they are subtracted from are on their way. Of f64 a warp has a tile, by tensor cores; of
// other types the block.
#pragma once

#include "kernel/common/mma.cuh"
#include "kernel/factor_gpu_large/view.cuh"

namespace tilewright {

// Element (i, k) of the left factor lies at l[i * l_row + k * l_col], (k, j) of the right one at
// u[k * u_row + j * u_col]. Index is wide for a left factor in device memory.
template <class T, class Index = int>
struct FactorLargeFactors {
  const T* l;
  Index l_row, l_col;
  const T* u;
  int u_row, u_col, depth;
};

// A block's tile: elements of a thread lie RowLanes and ColLanes apart.
template <class T, int Rows, int Cols, int RowLanes, int ColLanes, bool SideBySideInRows, bool Conj,
          bool ConjLeft = false>
struct FactorLargeTile {
  static constexpr int height = Rows * RowLanes, width = Cols * ColLanes, count = Rows * Cols, tiles = 1;
  T sum[count];

  __device__ __forceinline__ static int first() { return 0; }  // of the tiles at once, this thread's
  __device__ __forceinline__ static int row() {
    return SideBySideInRows ? threadIdx.x / ColLanes : threadIdx.x % RowLanes;
  }
  __device__ __forceinline__ static int col() {
    return SideBySideInRows ? threadIdx.x % ColLanes : threadIdx.x / RowLanes;
  }
  // Calls f(number, row, column) for the elements of this thread.
  template <class F>
  __device__ __forceinline__ static void each(F f) {
#pragma unroll
    for (int e = 0; e < count; ++e) f(e, row() + RowLanes * (e / Cols), col() + ColLanes * (e % Cols));
  }
  // The product from (i, j) on. Factors end with `last_row` and `last_col`.
  template <class Index>
  __device__ __forceinline__ void multiply(const FactorLargeFactors<T, Index>& x, int i, int j, int last_row,
                                           int last_col) {
    Index l_at[Rows];
    int u_at[Cols];
    i += row(), j += col();
#pragma unroll
    for (int r = 0; r < Rows; ++r)
      l_at[r] = (i + RowLanes * r < last_row ? i + RowLanes * r : last_row) * x.l_row;
#pragma unroll
    for (int s = 0; s < Cols; ++s)
      u_at[s] = (j + ColLanes * s < last_col ? j + ColLanes * s : last_col) * x.u_col;
#pragma unroll
    for (int e = 0; e < count; ++e) sum[e] = zero<T>();
    const T *l = x.l, *u = x.u;
#pragma unroll 2
    for (int k = 0; k < x.depth; ++k, l += x.l_col, u += x.u_row) {
      T left[Rows], right[Cols];
#pragma unroll
      for (int r = 0; r < Rows; ++r) left[r] = conjugate_if<ConjLeft>(l[l_at[r]]);
#pragma unroll
      for (int s = 0; s < Cols; ++s) right[s] = conjugate_if<Conj>(u[u_at[s]]);
#pragma unroll
      for (int e = 0; e < count; ++e) multiply_add(sum[e], left[e / Cols], right[e % Cols]);
    }
  }
};

// A warp's tile of 8 Rows x 8 Cols elements.
template <int Rows, int Cols, int Warps>
struct FactorLargeMmaTile {
  static constexpr int height = 8 * Rows, width = 8 * Cols, count = 2 * Rows * Cols, tiles = Warps;
  double sum[count];

  __device__ __forceinline__ static int first() { return threadIdx.x / 32; }
  template <class F>
  __device__ __forceinline__ static void each(F f) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int e = 0; e < count; ++e)
      f(e, lane / 4 + 8 * (e / (2 * Cols)), 2 * (lane % 4) + 8 * (e / 2 % Cols) + e % 2);
  }
  template <class Index>
  __device__ __forceinline__ void multiply(const FactorLargeFactors<double, Index>& x, int i, int j,
                                           int last_row, int last_col) {
    const int mine = threadIdx.x % 4;
    Index l_at[Rows];
    int u_at[Cols];
    i += threadIdx.x % 32 / 4, j += threadIdx.x % 32 / 4;
#pragma unroll
    for (int r = 0; r < Rows; ++r)
      l_at[r] = (i + 8 * r < last_row ? i + 8 * r : last_row) * x.l_row + mine * x.l_col;
#pragma unroll
    for (int s = 0; s < Cols; ++s)
      u_at[s] = (j + 8 * s < last_col ? j + 8 * s : last_col) * x.u_col + mine * x.u_row;
#pragma unroll
    for (int e = 0; e < count; ++e) sum[e] = 0;
    const double *l = x.l, *u = x.u;
#pragma unroll 2
    for (int k = mine; k - mine < x.depth; k += 4, l += 4 * x.l_col, u += 4 * x.u_row) {
      double left[Rows], right[Cols];
#pragma unroll
      for (int r = 0; r < Rows; ++r) left[r] = k < x.depth ? l[l_at[r]] : 0;
#pragma unroll
      for (int s = 0; s < Cols; ++s) right[s] = k < x.depth ? u[u_at[s]] : 0;
#pragma unroll
      for (int r = 0; r < Rows; ++r)
#pragma unroll
        for (int s = 0; s < Cols; ++s)
          mma_8x8x4(sum[2 * (r * Cols + s)], sum[2 * (r * Cols + s) + 1], left[r], right[s]);
    }
  }
};

template <class T>
inline constexpr bool factor_large_by_tensor_cores = false;
template <>
inline constexpr bool factor_large_by_tensor_cores<double> = true;

template <bool First, class A, class B>
struct FactorLargeChoice {
  using Type = A;
};
template <class A, class B>
struct FactorLargeChoice<false, A, B> {
  using Type = B;
};

// The tile of a config; by tensor cores of half as many 8 x 8 in each direction.
template <class T, FactorLargeConfig C, bool ByRows, bool Conj>
struct FactorLargeTileOf {
  static constexpr int near = factor_large_lanes, far = C.threads / factor_large_lanes;
  using Type = typename FactorLargeChoice<
      factor_large_by_tensor_cores<T>, FactorLargeMmaTile<C.rows / 2, C.cols / 2, C.threads / 32>,
      FactorLargeTile<T, C.rows, C.cols, ByRows ? far : near, ByRows ? near : far, ByRows, Conj>>::Type;
};

// Subtracts the product of rows x cols from `work` from (row, col) on; of a `Lower` triangle no element above
// the diagonal. All threads of the block take part.
template <class Tile, bool Lower, class T, class Index, class View>
__device__ __forceinline__ void factor_large_subtract(const View& work, int row, int col, int rows, int cols,
                                                      const FactorLargeFactors<T, Index>& x) {
  const int down = (rows + Tile::height - 1) / Tile::height, across = (cols + Tile::width - 1) / Tile::width;
  for (int t = Tile::first(); t < down * across; t += Tile::tiles) {
    const int i0 = t % down * Tile::height, j0 = t / down * Tile::width;
    if (Lower && row + i0 + Tile::height <= col + j0) continue;
    const bool is_full = i0 + Tile::height <= rows && j0 + Tile::width <= cols &&
                         (!Lower || row + i0 >= col + j0 + Tile::width - 1);
    const auto is_in = [&](int i, int j) {
      return i0 + i < rows && j0 + j < cols && (!Lower || row + i0 + i >= col + j0 + j);
    };
    Tile tile;
    T there[Tile::count];
    const auto at = [&](int i, int j) -> T& { return work.at(row + i0 + i, col + j0 + j); };
    if (is_full)
      tile.each([&](int e, int i, int j) { there[e] = at(i, j); });
    else
      tile.each([&](int e, int i, int j) { there[e] = is_in(i, j) ? at(i, j) : zero<T>(); });
    tile.multiply(x, i0, j0, rows - 1, cols - 1);
    if (is_full)
      tile.each([&](int e, int i, int j) { at(i, j) = difference(there[e], tile.sum[e]); });
    else
      tile.each([&](int e, int i, int j) {
        if (is_in(i, j)) at(i, j) = difference(there[e], tile.sum[e]);
      });
  }
}

}  // namespace tilewright
