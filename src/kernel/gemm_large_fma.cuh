// A warp tile's product by multiply-adds: each lane holds thread_m x thread_n sums and reads packs of rows of
// A and columns of B, which lie side by side in shared memory, for one k after the other.
#pragma once

#include "kernel/gemm_large_device.cuh"

namespace tilewright {

template <class T, GemmLargeShape S, GemmLargeConfig C>
struct GemmLargeFma {
  static constexpr GemmLargeTile tile_a = gemm_large_tile_a(S, C, sizeof(T));
  static constexpr GemmLargeTile tile_b = gemm_large_tile_b(S, C, sizeof(T));
  static constexpr int pack_a = gemm_large_pack(C, C.thread_m, sizeof(T));
  static constexpr int pack_b = gemm_large_pack(C, C.thread_n, sizeof(T));
  static constexpr int lanes_m = C.warp_m / C.thread_m;
  static constexpr int lanes_n = C.warp_n / C.thread_n;
  static constexpr int store_pack = pack_a;
  static constexpr int value_count = C.thread_m * C.thread_n;
  using Value = T;

  struct Fragment {
    T a[C.thread_m];
    T b[C.thread_n];
  };

  int base_a;  // byte offsets of the lane's first row and column
  int base_b;
  T sum[C.thread_n][C.thread_m];

  static __device__ __forceinline__ int first_row(int thread) {
    return thread / gemm_large_lanes % (C.tile_m / C.warp_m) * C.warp_m +
           gemm_large_lane_m(C, thread % gemm_large_lanes) * pack_a;
  }
  static __device__ __forceinline__ int first_column(int thread) {
    return thread / gemm_large_lanes / (C.tile_m / C.warp_m) * C.warp_n +
           gemm_large_lane_n(C, thread % gemm_large_lanes) * pack_b;
  }
  __device__ __forceinline__ GemmLargeFma()
      : base_a(tile_a.offset(first_row(threadIdx.x), 0)),
        base_b(tile_b.offset(first_column(threadIdx.x), 0)) {}
  __device__ __forceinline__ Value& value(int i) { return sum[i / C.thread_m][i % C.thread_m]; }

  template <int Count, int PackSize, int Lanes, bool Conjugate, GemmLargeTile Tile>
  static __device__ __forceinline__ void read(T (&to)[Count], const unsigned char* stage, int base, int k) {
#pragma unroll
    for (int i = 0; i < Count; i += PackSize) {
      const auto pack = *reinterpret_cast<const Pack<T, PackSize>*>(stage + base + Tile.offset(i * Lanes, k));
#pragma unroll
      for (int e = 0; e < PackSize; ++e) to[i + e] = conjugate_if<Conjugate>(pack.item[e]);
    }
  }
  __device__ __forceinline__ void load(Fragment& fragment, const unsigned char* a, const unsigned char* b,
                                       int step) const {
    read<C.thread_m, pack_a, lanes_m, S.conj_a, tile_a>(fragment.a, a, base_a, step);
    read<C.thread_n, pack_b, lanes_n, S.conj_b, tile_b>(fragment.b, b, base_b, step);
  }
  // sum(i, j) += op(A)(i, k) op(B)(k, j)
  __device__ __forceinline__ void multiply(const Fragment& fragment) {
#pragma unroll
    for (int j = 0; j < C.thread_n; ++j)
#pragma unroll
      for (int i = 0; i < C.thread_m; ++i) {
        // There and back, so that the element of A that two multiply-adds share stays in the reuse cache.
        const int at = j % 2 == 0 ? i : C.thread_m - 1 - i;
        multiply_add(sum[j][at], fragment.a[at], fragment.b[j]);
      }
  }

  // Hands every pack of sums on with its place in the tile.
  template <class F>
  __device__ __forceinline__ void for_each(F&& use) const {
    // Read anew, so that no register holds it through the main loop.
    const int thread = read_thread_again(), row = first_row(thread), column = first_column(thread);
#pragma unroll
    for (int j = 0; j < C.thread_n; ++j)
#pragma unroll
      for (int i = 0; i < C.thread_m; i += pack_a) {
        Pack<T, pack_a> pack;
#pragma unroll
        for (int e = 0; e < pack_a; ++e) pack.item[e] = sum[j][i + e];
        use(row + i * lanes_m, column + j / pack_b * pack_b * lanes_n + j % pack_b, pack);
      }
  }
};

}  // namespace tilewright
