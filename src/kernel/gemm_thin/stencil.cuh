// Products with one long side (gemm_thin/config.hpp). Blocks walk over tiles of points. While one tile is
// multiplied the next is copied into shared memory. W stays there for all tiles of a product. Memory is the
// bound: every element of X and Y passes once.
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/common/element.cuh"
#include "kernel/gemm_thin/config.hpp"

namespace tilewright {

template <class T>
__device__ __forceinline__ T sum_of(T x, T y) {
  return x + y;
}
template <class R>
__device__ __forceinline__ Complex<R> sum_of(Complex<R> x, Complex<R> y) {
  return {x.re + y.re, x.im + y.im};
}

// The part of a block's work that depends on the tile.
struct GemmThinTile {
  long long product, first;  // of the batch; its first point
  int points;
};

template <class T, GemmThinShape S, GemmThinConfig C>
struct GemmThin {
  static constexpr int threads = gemm_thin_threads(S, C), groups = gemm_thin_groups(S, C);
  static constexpr int w_ld = groups * C.columns, lanes = C.points / C.rows, size = int(sizeof(T));
  static constexpr int vector = gemm_thin_vector_bytes / size;  // its elements
  static constexpr bool x_in_vectors = gemm_thin_x_in_vectors(S, size);
  static constexpr int x_ld = gemm_thin_distance(S.k, x_in_vectors, size), y_ld = gemm_thin_distance(S.n);
  static constexpr int x_tile = gemm_thin_x_elements(S, C, size);
  static constexpr int pack = vector <= 1 || C.columns % 2 != 0 ? 1 : C.columns % vector != 0 ? 2 : vector;

  const GemmThinArgs<T>& args;
  T* w;
  T* x;
  T* y;

  __device__ __forceinline__ GemmThinTile tile(long long number) const {
    const long long each = (args.points + C.points - 1) / C.points;
    const long long product = number / each, first = number % each * C.points;
    const long long rest = args.points - first;
    return {product, first, rest < C.points ? int(rest) : C.points};
  }

  __device__ __forceinline__ void load_w(long long product) const {
    const T* const from = args.w + product * args.stride_w;
    for (int e = threadIdx.x; e < S.k * w_ld; e += threads) {
      const int l = e / w_ld, j = e % w_ld;
      w[e] = j < S.n ? conjugate_if<S.conj_w>(from[l * args.w_k + j * args.w_n]) : zero<T>();
    }
  }

  // Copies a vector, or the `left` elements of it that the tile has.
  __device__ __forceinline__ void load_vectors(T* to, const T* source, int left) const {
    if (left >= vector)
      copy_async<16>(to, source);
    else
      for (int i = 0; i < left; ++i) copy_async<size>(to + i, source + i);
  }

  // Copies `Width` elements of each point of a tile: ByPoints to[point * Distance + element], else
  // to[element * points + point].
  template <bool ByPoints, int Width, int Distance, bool Vectors>
  __device__ __forceinline__ void load(T* to, const T* from, long long ld, const GemmThinTile& t) const {
    constexpr bool points_in_vectors = ByPoints && Width % vector == 0 && Distance % vector == 0;
    constexpr bool one_run = ByPoints && Distance == Width;
    if constexpr (Vectors && vector > 1 && (!ByPoints || points_in_vectors || one_run)) {
      for (int e = threadIdx.x * vector; e < C.points * Width; e += threads * vector) {
        if constexpr (points_in_vectors) {
          const int point = e / Width, l = e % Width;
          if (point < t.points) copy_async<16>(to + point * Distance + l, from + (t.first + point) * ld + l);
        } else if constexpr (ByPoints) {
          load_vectors(to + e, from + t.first * Width + e, t.points * Width - e);
        } else {
          const int l = e / C.points, point = e % C.points;
          load_vectors(to + e, from + l * ld + t.first + point, t.points - point);
        }
      }
    } else {
      for (int e = threadIdx.x; e < C.points * Width; e += threads) {
        const int point = ByPoints ? e / Width : e % C.points, l = ByPoints ? e % Width : e / C.points;
        if (point >= t.points) continue;
        const T* const source =
            ByPoints ? from + (t.first + point) * ld + l : from + l * ld + t.first + point;
        copy_async<size>(to + (ByPoints ? point * Distance + l : e), source);
      }
    }
  }
  __device__ __forceinline__ void load_x(int stage, const GemmThinTile& t) const {
    load<S.x_by_points, S.k, x_ld, S.vector_x>(x + stage * x_tile, args.x + t.product * args.stride_x,
                                               args.ld_x, t);
  }
  __device__ __forceinline__ void load_y(const GemmThinTile& t) const {
    load<true, S.n, y_ld, false>(y, args.y + t.product * args.stride_y, args.ld_y, t);
  }

  // Adds the products of `count` elements l, l + 1 ... of each point.
  template <int count>
  __device__ __forceinline__ void multiply_by(const Pack<T, count> (&values)[C.rows], int l, int first,
                                              T (&sums)[C.rows][C.columns]) const {
#pragma unroll
    for (int i = 0; i < count; ++i)
#pragma unroll
      for (int j = 0; j < C.columns; j += pack) {
        const auto several = *reinterpret_cast<const Pack<T, pack>*>(w + (l + i) * w_ld + first + j);
#pragma unroll
        for (int r = 0; r < C.rows; ++r)
#pragma unroll
          for (int p = 0; p < pack; ++p)
            multiply_add(sums[r][j + p], conjugate_if<S.conj_x>(values[r].item[i]), several.item[p]);
      }
  }

  __device__ __forceinline__ void multiply(int stage, T (&sums)[C.rows][C.columns]) const {
    const T* const tile = x + stage * x_tile;
    const int lane = threadIdx.x % lanes, first = threadIdx.x / lanes * C.columns;
    constexpr int count = x_in_vectors ? vector : 1;
#pragma unroll(S.k <= 16 ? S.k / count : 8 / count)
    for (int l = 0; l < S.k; l += count) {
      Pack<T, count> values[C.rows];
#pragma unroll
      for (int r = 0; r < C.rows; ++r) {
        const int point = lane + r * lanes, at = S.x_by_points ? point * x_ld + l : l * C.points + point;
        values[r] = *reinterpret_cast<const Pack<T, count>*>(tile + at);
      }
      multiply_by<count>(values, l, first, sums);
    }
  }

  // Returns alpha sum + beta old.
  __device__ __forceinline__ T result(T sum, bool reads_y, T old) const {
    T value = sum;
    if constexpr (!S.unit_alpha) {
      value = zero<T>();
      multiply_add(value, args.alpha, sum);
    }
    if (S.reads_y && reads_y) {
      if constexpr (S.unit_beta)
        value = sum_of(value, old);
      else
        multiply_add(value, args.beta, old);
    }
    return value;
  }

  // Calls use(point, column, r, j) for the elements of Y that this thread forms; sums[r][j] is that one's.
  template <class Use>
  __device__ __forceinline__ void each(const GemmThinTile& t, Use use) const {
    const int lane = threadIdx.x % lanes, first = threadIdx.x / lanes * C.columns;
#pragma unroll
    for (int r = 0; r < C.rows; ++r)
#pragma unroll
      for (int j = 0; j < C.columns; ++j) {
        const int point = lane + r * lanes;
        if (point < t.points && first + j < S.n) use(point, first + j, r, j);
      }
  }

  __device__ __forceinline__ void store_tile(const GemmThinTile& t) const {
    T* const to = args.y + t.product * args.stride_y;
    for (int e = threadIdx.x; e < t.points * S.n; e += threads) {
      const int point = e / S.n, j = e % S.n;
      to[(t.first + point) * args.ld_y + j] = y[point * y_ld + j];
    }
  }

  // Forms one tile whose X has arrived; a Y by points has too, and is stored in order of memory.
  __device__ __forceinline__ void form(int stage, const GemmThinTile& t, bool reads_y, bool reads_x) const {
    T sums[C.rows][C.columns] = {}, old[C.rows][C.columns] = {};
    T* const own = args.y + t.product * args.stride_y + t.first;
    if constexpr (S.reads_y && !S.y_by_points)
      if (reads_y)
        each(t, [&](int point, int column, int r, int j) { old[r][j] = own[column * args.ld_y + point]; });
    if (reads_x) multiply(stage, sums);
    each(t, [&](int point, int column, int r, int j) {
      if constexpr (S.y_by_points) {
        T& place = y[point * y_ld + column];
        place = result(sums[r][j], reads_y, S.reads_y && reads_y ? place : zero<T>());
      } else {
        own[column * args.ld_y + point] = result(sums[r][j], reads_y, old[r][j]);
      }
    });
    if constexpr (S.y_by_points) {
      __syncthreads();
      store_tile(t);
    }
  }
};

template <class T, GemmThinShape S, GemmThinConfig C>
__global__ void __launch_bounds__(gemm_thin_threads(S, C)) gemm_thin(const GemmThinArgs<T> args) {
  extern __shared__ __align__(128) unsigned char shared[];
  using Block = GemmThin<T, S, C>;
  T* const w = reinterpret_cast<T*>(shared);
  T* const x = w + gemm_thin_w_elements(S, C);
  const Block block{args, w, x, x + 2 * Block::x_tile};
  // A factor of zero hides what is no number.
  const bool reads_x = S.unit_alpha || !is_zero(args.alpha);
  const bool reads_y = S.reads_y && (S.unit_beta || !is_zero(args.beta));
  const long long tiles = (args.points + C.points - 1) / C.points * args.count;
  long long product = -1;
  int stage = 0;
  if (reads_x && blockIdx.x < tiles) block.load_x(0, block.tile(blockIdx.x));
  copy_async_commit();
  for (long long number = blockIdx.x; number < tiles; number += gridDim.x, stage ^= 1) {
    const GemmThinTile now = block.tile(number);
    if (S.y_by_points && reads_y) block.load_y(now);
    copy_async_commit();
    if (reads_x && number + gridDim.x < tiles) block.load_x(stage ^ 1, block.tile(number + gridDim.x));
    copy_async_commit();
    if (reads_x && now.product != product && (product < 0 || args.stride_w != 0)) block.load_w(now.product);
    product = now.product;
    copy_async_wait<1>();
    __syncthreads();
    block.form(stage, now, reads_y, reads_x);
    __syncthreads();
  }
}

}  // namespace tilewright
