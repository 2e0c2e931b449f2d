// A warp tile's product by multiply-adds; each lane holds thread_m x thread_n sums. It reads packs of rows
// (columns of B) for each k or, from tiles with contiguous k, packs of k for each row.
#pragma once

#include "kernel/gemm_large/store.cuh"

namespace tilewright {

template <class T, GemmLargeShape S, GemmLargeConfig C>
struct GemmLargeFma {
  static constexpr GemmLargeTile tile_a = gemm_large_tile_a(S, C, sizeof(T));
  static constexpr GemmLargeTile tile_b = gemm_large_tile_b(S, C, sizeof(T));
  static constexpr GemmLargePacks packs_a = gemm_large_packs(C, tile_a, C.thread_m);
  static constexpr GemmLargePacks packs_b = gemm_large_packs(C, tile_b, C.thread_n);
  static constexpr int depth = gemm_large_step(C, sizeof(T));
  static constexpr int lanes_m = C.warp_m / C.thread_m;
  static constexpr int lanes_n = C.warp_n / C.thread_n;
  static constexpr int store_pack = packs_a.rows;
  static constexpr int value_count = C.thread_m * C.thread_n;
  using Value = T;
  using Parts = GemmLargeParts<T>;
  using Real = typename Parts::Real;
  static constexpr int real_count = value_count * Parts::reals;

  struct Fragment {
    T a[depth][C.thread_m];
    T b[depth][C.thread_n];
  };

  int base_a;  // byte offsets of the lane's first row and column
  int base_b;
  T sum[C.thread_n][C.thread_m];

  static __device__ __forceinline__ int first_row(int thread) {
    return gemm_large_warp_place(C, thread).row +
           gemm_large_lane_m(C, thread % gemm_large_lanes) * packs_a.rows;
  }
  static __device__ __forceinline__ int first_column(int thread) {
    return gemm_large_warp_place(C, thread).column +
           gemm_large_lane_n(C, thread % gemm_large_lanes) * packs_b.rows;
  }
  explicit __device__ __forceinline__ GemmLargeFma(const GemmLargeArgs<T>&)
      : base_a(tile_a.offset(first_row(threadIdx.x), gemm_large_warp_place(C, threadIdx.x).k)),
        base_b(tile_b.offset(first_column(threadIdx.x), gemm_large_warp_place(C, threadIdx.x).k)) {}
  __device__ __forceinline__ Value& value(int i) { return sum[i / C.thread_m][i % C.thread_m]; }
  __device__ __forceinline__ Real& real(int i) {
    return Parts::real(value(i / Parts::reals), i % Parts::reals);
  }

  template <GemmLargePacks Packs, int Lanes, bool Conjugate, int Count>
  static __device__ __forceinline__ void read(T (&to)[depth][Count], const unsigned char* stage, int base,
                                              int step) {
    constexpr int deep = Packs.depth < depth ? Packs.depth : depth;
#pragma unroll
    for (int d = 0; d < depth; d += deep)
#pragma unroll
      for (int i = 0; i < Count; i += Packs.rows) {
        const int dx = Packs.row(i, Lanes), k = step * depth + d;
        const unsigned char* from = stage + (base ^ Packs.mask(dx, k)) + Packs.constant(dx, k);
        const auto pack = *reinterpret_cast<const Pack<T, Packs.rows * deep>*>(from);
#pragma unroll
        for (int e = 0; e < Packs.rows * deep; ++e)
          to[d + e / Packs.rows][i + e % Packs.rows] = conjugate_if<Conjugate>(pack.item[e]);
      }
  }
  __device__ __forceinline__ void load(Fragment& fragment, const unsigned char* a, const unsigned char* b,
                                       int step) const {
    read<packs_a, lanes_m, S.conj_a>(fragment.a, a, base_a, step);
    read<packs_b, lanes_n, S.conj_b>(fragment.b, b, base_b, step);
  }
  // Combines bits of every read, so that the compiler chooses the last one.
  template <GemmLargePacks Packs, int Count>
  static __device__ __forceinline__ unsigned witness_of(const T (&values)[depth][Count]) {
    constexpr int deep = Packs.depth < depth ? Packs.depth : depth;
    unsigned bits = 0;
#pragma unroll
    for (int d = 0; d < depth; d += deep)
#pragma unroll
      for (int i = 0; i < Count; i += Packs.rows) bits |= low_bits(values[d][i]);
    return bits;
  }
  // Returns bits that are known when the fragment has been read.
  static __device__ __forceinline__ unsigned witness(const Fragment& fragment) {
    return witness_of<packs_a>(fragment.a) | witness_of<packs_b>(fragment.b);
  }
  // Adds op(A)(i, k) op(B)(k, j) to sum(i, j). The order alternates, so that an element of B stays in the
  // reuse cache for all rows and two consecutive multiply-adds share one of A: a multiply-add that reads
  // three new registers, or two of one of four banks, takes two cycles (H200; docs/notebook.md).
  // Complex products take four such parts.
  __device__ __forceinline__ void multiply(const Fragment& fragment) {
    constexpr int parts = Parts::count;
#pragma unroll
    for (int d = 0; d < depth; ++d)
#pragma unroll
      for (int j = 0; j < C.thread_n; ++j)
#pragma unroll
        for (int part = 0; part < parts; ++part)
#pragma unroll
          for (int i = 0; i < C.thread_m; ++i) {
            const int at = (parts > 1 ? part : j) % 2 == 0 ? i : C.thread_m - 1 - i;
            multiply_part(sum[j][at], fragment.a[d][at], fragment.b[d][j], part);
          }
  }
  template <class R>
  static __device__ __forceinline__ void multiply_part(R& to, R a, R b, int) {
    multiply_add(to, a, b);
  }
  template <class R>
  static __device__ __forceinline__ void multiply_part(Complex<R>& to, Complex<R> a, Complex<R> b, int part) {
    if (part == 0) multiply_add(to.re, a.re, b.re);
    if (part == 1) multiply_add(to.im, a.im, b.re);
    if (part == 2) multiply_add(to.re, -a.im, b.im);
    if (part == 3) multiply_add(to.im, a.re, b.im);
  }

  struct Place {
    int row, column;
  };
  // Reads the thread's number again, so that no register holds the place through the main loop.
  __device__ __forceinline__ static Place place_again() {
    const int thread = read_thread_again();
    return {first_row(thread), first_column(thread)};
  }

  // Calls f for packs First to Last - 1 of sums, with their number from First on and place in the tile.
  template <int First, int Last, class F>
  __device__ __forceinline__ void for_each(const Place& place, F&& use) const {
    int number = 0;
#pragma unroll
    for (int j = 0; j < C.thread_n; ++j)
#pragma unroll
      for (int i = 0; i < C.thread_m; i += packs_a.rows, ++number) {
        if (number < First || number >= Last) continue;
        Pack<T, packs_a.rows> pack;
#pragma unroll
        for (int e = 0; e < packs_a.rows; ++e) pack.item[e] = sum[j][i + e];
        use(number - First, place.row + packs_a.row(i, lanes_m), place.column + packs_b.row(j, lanes_n),
            pack);
      }
  }
};

}  // namespace tilewright
