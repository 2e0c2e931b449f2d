// One thread's part of batched small GEMM: a block of thread_m x thread_n elements of one C, formed in
// registers from operands in shared or global memory. Rows go to neighbouring threads in packs, so that a
// warp reads columns of A in one piece and shares the elements of B.
#pragma once

#include "kernel/gemm_small_config.hpp"
#include "kernel/gpu_element.cuh"

namespace tilewright {

template <class T, GemmSmallShape S, GemmSmallConfig C>
struct GemmSmallProduct {
  static constexpr int tiles_m = gemm_small_tiles_m(S, C);
  static constexpr int tiles_n = gemm_small_tiles_n(S, C);
  static constexpr int tiles = tiles_m * tiles_n;
  static constexpr bool direct = C.load == GemmSmallLoad::direct;
  static constexpr GemmSmallPacks packs = gemm_small_packs(S, C, sizeof(T));
  static constexpr int row_pack = packs.row;
  static constexpr int column_pack = packs.column;
  static constexpr int k_pack_a = packs.k_a;
  static constexpr int k_pack_b = packs.k_b;
  static constexpr int k_step = packs.k_step;
  static constexpr int k_unroll = C.k_unroll == 0 ? S.k / k_step : ceil_div(C.k_unroll, k_step);

  static __device__ __forceinline__ const T* global_a(const GemmSmallArgs<T>& args, long long problem) {
    if constexpr (S.step_a == GemmSmallStep::packed) return args.a + problem * (S.m * S.k);
    return args.a + (S.step_a == GemmSmallStep::broadcast ? 0 : problem * args.stride_a);
  }
  static __device__ __forceinline__ const T* global_b(const GemmSmallArgs<T>& args, long long problem) {
    if constexpr (S.step_b == GemmSmallStep::packed) return args.b + problem * (S.k * S.n);
    return args.b + (S.step_b == GemmSmallStep::broadcast ? 0 : problem * args.stride_b);
  }
  static __device__ __forceinline__ T* global_c(const GemmSmallArgs<T>& args, long long problem) {
    if constexpr (S.step_c == GemmSmallStep::packed) return args.c + problem * (S.m * S.n);
    return args.c + problem * args.stride_c;
  }

  int tile_m;
  int tile_n;
  T sum[C.thread_n][C.thread_m];

  explicit __device__ __forceinline__ GemmSmallProduct(int tile)
      : tile_m(tile % tiles_m), tile_n(tile / tiles_m) {
#pragma unroll
    for (int j = 0; j < C.thread_n; ++j)
#pragma unroll
      for (int i = 0; i < C.thread_m; ++i) sum[j][i] = zero<T>();
  }

  __device__ __forceinline__ int row(int i) const { return gemm_small_place(i, row_pack, tiles_m, tile_m); }
  __device__ __forceinline__ int column(int j) const {
    return gemm_small_column(C, j, column_pack, tiles_n, tile_n);
  }
  __device__ __forceinline__ bool has_row(int i) const {
    return (i / row_pack + 1) * tiles_m * row_pack <= S.m || row(i) < S.m;
  }
  __device__ __forceinline__ bool has_column(int j) const {
    constexpr bool whole = S.n % C.thread_n == 0;
    return whole || (!C.columns_together && (j / column_pack + 1) * tiles_n * column_pack <= S.n) ||
           column(j) < S.n;
  }

  // Count elements beginning at `from` into to[0], to[stride], ...; shared memory may be read beyond the
  // matrix.
  template <int Count, int Stride, bool Conjugate>
  static __device__ __forceinline__ void read(T* to, const T* from, bool exists) {
    Pack<T, Count> pack{};
    if (!direct || exists) pack = *reinterpret_cast<const Pack<T, Count>*>(from);
#pragma unroll
    for (int e = 0; e < Count; ++e) to[e * Stride] = conjugate_if<Conjugate>(pack.item[e]);
  }

  // sum(i, j) += op(A)(i, l) op(B)(l, j) for k_step values of l.
  __device__ __forceinline__ void accumulate(const T* a, const T* b, long long lda, long long ldb, int l) {
    T a_part[k_step][C.thread_m];
    T b_part[k_step][C.thread_n];
#pragma unroll
    for (int i = 0; i < C.thread_m; i += row_pack)
#pragma unroll
      for (int s = 0; s < k_step; s += k_pack_a) {
        if constexpr (S.trans_a)
          read<k_pack_a, C.thread_m, S.conj_a>(&a_part[s][i], a + row(i) * lda + l + s, has_row(i));
        else
          read<row_pack, 1, S.conj_a>(&a_part[s][i], a + (l + s) * lda + row(i), has_row(i));
      }
#pragma unroll
    for (int j = 0; j < C.thread_n; j += column_pack)
#pragma unroll
      for (int s = 0; s < k_step; s += k_pack_b) {
        if constexpr (S.trans_b)
          read<column_pack, 1, S.conj_b>(&b_part[s][j], b + (l + s) * ldb + column(j), has_column(j));
        else
          read<k_pack_b, C.thread_n, S.conj_b>(&b_part[s][j], b + column(j) * ldb + l + s, has_column(j));
      }
#pragma unroll
    for (int s = 0; s < k_step; ++s)
#pragma unroll
      for (int j = 0; j < C.thread_n; ++j)
#pragma unroll
        for (int i = 0; i < C.thread_m; ++i) multiply_add(sum[j][i], a_part[s][i], b_part[s][j]);
  }

  __device__ __forceinline__ void form(const T* a, const T* b, const GemmSmallArgs<T>& args) {
    constexpr bool strided_a = direct && S.step_a != GemmSmallStep::packed;
    constexpr bool strided_b = direct && S.step_b != GemmSmallStep::packed;
    const long long lda = strided_a ? args.lda : (S.trans_a ? S.k : S.m);
    const long long ldb = strided_b ? args.ldb : (S.trans_b ? S.n : S.k);
#pragma unroll k_unroll
    for (int l = 0; l < S.k; l += k_step) accumulate(a, b, lda, ldb, l);
  }

  // to = alpha sum + beta from; `from` and `to` are one C in shared memory (packed) or in global memory.
  __device__ __forceinline__ void finish(const T* from, T* to, const GemmSmallArgs<T>& args) const {
    constexpr bool from_shared = S.reads_c && !direct;
    constexpr bool to_shared = C.store != GemmSmallStore::direct;
    const long long global_ld = S.step_c == GemmSmallStep::packed ? S.m : args.ldc;
    const long long from_ld = from_shared ? S.m : global_ld;
    const long long to_ld = to_shared ? S.m : global_ld;
    constexpr bool in_packs = (from_shared || !S.reads_c || S.step_c == GemmSmallStep::packed) &&
                              (to_shared || S.step_c == GemmSmallStep::packed);
    constexpr bool all_shared = to_shared && (from_shared || !S.reads_c);
    constexpr int bytes = all_shared || S.align_bytes > 16 ? 16 : S.align_bytes;
    constexpr int most = bytes > int(sizeof(T)) ? bytes / int(sizeof(T)) : 1;
    constexpr int pack = in_packs ? gemm_small_pack(row_pack, row_pack, most) : 1;
#pragma unroll
    for (int j = 0; j < C.thread_n; ++j) {
      if (!has_column(j)) continue;
#pragma unroll
      for (int i = 0; i < C.thread_m; i += pack) {
        if (!has_row(i)) continue;
        Pack<T, pack> old{};
        if constexpr (S.reads_c)
          old = *reinterpret_cast<const Pack<T, pack>*>(from + column(j) * from_ld + row(i));
        Pack<T, pack> result;
#pragma unroll
        for (int e = 0; e < pack; ++e) {
          T value = zero<T>();
          multiply_add(value, args.alpha, sum[j][i + e]);
          if constexpr (S.reads_c) multiply_add(value, args.beta, old.item[e]);
          result.item[e] = value;
        }
        *reinterpret_cast<Pack<T, pack>*>(to + column(j) * to_ld + row(i)) = result;
      }
    }
  }
};

}  // namespace tilewright
