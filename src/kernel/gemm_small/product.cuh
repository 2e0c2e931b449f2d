// One thread's part of batched small GEMM: thread_m x thread_n elements of one C, formed in registers from
// operands in shared or global memory. Neighbouring threads have neighbouring packs of rows, so that a warp
// reads columns of A contiguously and shares elements of B.
#pragma once

#include "kernel/common/element.cuh"
#include "kernel/common/mma.cuh"
#include "kernel/gemm_small/entry.cuh"
#include "kernel/gemm_small/read.cuh"

namespace tilewright {

// A matrix as a thread sees it: element (i, j) lies at base[(j * ld + i) * lanes].
template <class T, class Index>
struct GemmSmallView {
  T* base;
  Index ld;
  Index lanes;

  // Widens each index by itself, so that compile-time parts become the instruction's offset.
  __device__ __forceinline__ T* at(int i, int j) const {
    return base + static_cast<long long>(j) * ld * lanes + static_cast<long long>(i) * lanes;
  }
};

template <class T, GemmSmallShape S, GemmSmallConfig C, class Sizes>
struct GemmSmallProduct {
  static constexpr bool direct = gemm_small_is_direct(C.load);
  // Thread tiles that stick out read unused values behind a matrix in shared memory, which may be another
  // tile's copy in progress. With this macro, for sanitizers, nothing is read there.
#ifdef TILEWRIGHT_READS_INSIDE
  static constexpr bool reads_beyond = false;
#else
  static constexpr bool reads_beyond = !direct;
#endif
  static constexpr bool by_warp = gemm_small_by_warp(C);
  static constexpr GemmSmallPacks packs = gemm_small_packs(S, C, sizeof(T));
  static constexpr int row_pack = packs.row;
  static constexpr int column_pack = packs.column;
  static constexpr int k_pack_a = packs.k_a;
  static constexpr int k_pack_b = packs.k_b;
  static constexpr int k_step = packs.k_step;
  static constexpr int k_whole = S.sizes_vary ? 4 : S.k / k_step > 0 ? S.k / k_step : 1;
  static constexpr int k_unroll = C.k_unroll == 0 ? k_whole : ceil_div(C.k_unroll, k_step);

  const Sizes& sizes;
  const GemmSmallPlaceInC tile;  // of its first element if sizes vary, else among the thread tiles
  T sum[C.thread_n][C.thread_m];
  // An unstaged old C is loaded before the multiplication: later each element would wait for a store.
  static constexpr bool reads_early = S.reads_c && !gemm_small_loads_c(S, C);
  T old[reads_early ? C.thread_n : 1][reads_early ? C.thread_m : 1];

  __device__ __forceinline__ GemmSmallProduct(const Sizes& all_sizes, GemmSmallPlaceInC place)
      : sizes(all_sizes), tile(place) {
#pragma unroll
    for (int j = 0; j < C.thread_n; ++j)
#pragma unroll
      for (int i = 0; i < C.thread_m; ++i) sum[j][i] = zero<T>();
  }

  __device__ __forceinline__ int row(int i) const {
    if constexpr (S.sizes_vary)
      return tile.m + i * gemm_small_own_m;
    else
      return gemm_small_row(C, i, row_pack, sizes.tiles_m, tile.m);
  }
  __device__ __forceinline__ int column(int j) const {
    if constexpr (S.sizes_vary)
      return tile.n + j * gemm_small_own_n;
    else
      return gemm_small_column(C, j, column_pack, sizes.tiles_n, tile.n);
  }
  // Checks are omitted for what exists at compile time: all but the last step of a varying size, whole tiles,
  // and packs that no tile sticks out with.
  __device__ __forceinline__ bool has_row(int i) const {
    constexpr int rows = C.thread_m * (by_warp ? gemm_small_warp_m : 1);
    if constexpr (S.sizes_vary)
      return (i + 1) * gemm_small_own_m <= rows * gemm_small_own_m - C.size_step || row(i) < sizes.m;
    else if constexpr (by_warp)
      return S.m % rows == 0 || row(i) < S.m;
    else
      return (i / row_pack + 1) * sizes.tiles_m * row_pack <= S.m || row(i) < S.m;
  }
  __device__ __forceinline__ bool has_column(int j) const {
    constexpr int columns = C.thread_n * (by_warp ? gemm_small_warp_n : 1);
    if constexpr (S.sizes_vary)
      return (j + 1) * gemm_small_own_n <= columns * gemm_small_own_n - C.size_step || column(j) < sizes.n;
    else if constexpr (by_warp || C.columns_together)
      return S.n % columns == 0 || column(j) < S.n;
    else
      return (j / column_pack + 1) * sizes.tiles_n * column_pack <= S.n || column(j) < S.n;
  }

  // Returns what lies in shared memory or, if A and B are not staged, in theirs.
  template <class P>
  static __device__ __forceinline__ P value_at(const P* from) {
    if constexpr (C.load == GemmSmallLoad::read_only)
      return read_only(from);
    else
      return *from;
  }
  // Loads Count elements from `from` into to[0], to[stride], ...; reads of shared memory may pass the matrix.
  template <int Count, int Stride, bool Conjugate>
  static __device__ __forceinline__ void read(T* to, const T* from, bool exists) {
    Pack<T, Count> pack{};
    if (reads_beyond || exists) pack = value_at(reinterpret_cast<const Pack<T, Count>*>(from));
#pragma unroll
    for (int e = 0; e < Count; ++e) to[e * Stride] = conjugate_if<Conjugate>(pack.item[e]);
  }

  // Adds op(A)(i, l) op(B)(l, j) to sum(i, j) for k_step values of l.
  template <class View>
  __device__ __forceinline__ void accumulate(View a, View b, int l) {
    T a_part[k_step][C.thread_m];
    T b_part[k_step][C.thread_n];
#pragma unroll
    for (int i = 0; i < C.thread_m; i += row_pack)
#pragma unroll
      for (int s = 0; s < k_step; s += k_pack_a) {
        if constexpr (S.trans_a)
          read<k_pack_a, C.thread_m, S.conj_a>(&a_part[s][i], a.at(l + s, row(i)), has_row(i));
        else
          read<row_pack, 1, S.conj_a>(&a_part[s][i], a.at(row(i), l + s), has_row(i));
      }
#pragma unroll
    for (int j = 0; j < C.thread_n; j += column_pack)
#pragma unroll
      for (int s = 0; s < k_step; s += k_pack_b) {
        if constexpr (S.trans_b)
          read<column_pack, 1, S.conj_b>(&b_part[s][j], b.at(column(j), l + s), has_column(j));
        else
          read<k_pack_b, C.thread_n, S.conj_b>(&b_part[s][j], b.at(l + s, column(j)), has_column(j));
      }
#pragma unroll
    for (int s = 0; s < k_step; ++s)
#pragma unroll
      for (int j = 0; j < C.thread_n; ++j)
#pragma unroll
        for (int i = 0; i < C.thread_m; ++i) multiply_add(sum[j][i], a_part[s][i], b_part[s][j]);
  }

  // The same for one value of l by running addresses: with run-time sizes and leading dimensions, forming
  // each address would take as long as the multiplications. Neighbours in memory share an address.
  static constexpr int addresses_a = S.trans_a ? C.thread_m : 1, addresses_b = S.trans_b ? 1 : C.thread_n;
  // In a ring, columns beyond the last may be another problem's copy in progress.
  static constexpr bool stays_inside = gemm_small_rings(S, C);
  __device__ __forceinline__ void accumulate_along(const T* (&a_at)[addresses_a],
                                                   const T* (&b_at)[addresses_b], int step_a, int step_b) {
    T a_part[C.thread_m], b_part[C.thread_n];
#pragma unroll
    for (int i = 0; i < C.thread_m; ++i) {
      a_part[i] = zero<T>();
      if (reads_beyond || has_row(i))
        a_part[i] =
            conjugate_if<S.conj_a>(S.trans_a ? *a_at[S.trans_a ? i : 0] : a_at[0][i * gemm_small_own_m]);
    }
#pragma unroll
    for (int j = 0; j < C.thread_n; ++j) {
      b_part[j] = zero<T>();
      if (reads_beyond || has_column(j))
        b_part[j] =
            conjugate_if<S.conj_b>(S.trans_b ? b_at[0][j * gemm_small_own_n] : *b_at[S.trans_b ? 0 : j]);
    }
#pragma unroll
    for (auto& at : a_at) at += step_a;
#pragma unroll
    for (auto& at : b_at) at += step_b;
#pragma unroll
    for (int j = 0; j < C.thread_n; ++j)
#pragma unroll
      for (int i = 0; i < C.thread_m; ++i) multiply_add(sum[j][i], a_part[i], b_part[j]);
  }
  template <class View>
  __device__ __forceinline__ void form_along(View a, View b) {
    const T* a_at[addresses_a];
    const T* b_at[addresses_b];
#pragma unroll
    for (int i = 0; i < addresses_a; ++i)
      a_at[i] = S.trans_a ? a.at(0, stays_inside && !has_row(i) ? 0 : row(i)) : a.at(row(i), 0);
#pragma unroll
    for (int j = 0; j < addresses_b; ++j)
      b_at[j] = S.trans_b ? b.at(column(j), 0) : b.at(0, stays_inside && !has_column(j) ? 0 : column(j));
    const int step_a = S.trans_a ? 1 : a.ld, step_b = S.trans_b ? b.ld : 1;
    // Without branches between steps, the loads of one overlap the products of another.
    int l = 0;
#pragma unroll 1
    for (; l + k_unroll <= sizes.k; l += k_unroll)
#pragma unroll
      for (int step = 0; step < k_unroll; ++step) accumulate_along(a_at, b_at, step_a, step_b);
#pragma unroll 1
    for (; l < sizes.k; ++l) accumulate_along(a_at, b_at, step_a, step_b);
  }

  // Four values of l by tensor cores, one for each lane of a row; nothing lies beyond the last.
  static constexpr int warp_k = 4;
  template <class View>
  __device__ __forceinline__ void accumulate_by_warp(View a, View b, int first) {
    const int l = first + tile.n % gemm_small_warp_n;
    const bool exists = S.k % warp_k == 0 || l < S.k;
    T a_part[C.thread_m], b_part[C.thread_n / 2];
#pragma unroll
    for (int i = 0; i < C.thread_m; ++i) {
      a_part[i] = zero<T>();
      if (exists && (reads_beyond || has_row(i)))
        a_part[i] = conjugate_if<S.conj_a>(value_at(S.trans_a ? a.at(l, row(i)) : a.at(row(i), l)));
    }
#pragma unroll
    for (int j = 0; j < C.thread_n; j += 2) {
      const int column_of_b =
          (tile.n / gemm_small_warp_n * C.thread_n + j) * gemm_small_warp_n + tile.m % gemm_small_warp_m;
      b_part[j / 2] = zero<T>();
      if (exists && (reads_beyond || column_of_b < sizes.n))
        b_part[j / 2] =
            conjugate_if<S.conj_b>(value_at(S.trans_b ? b.at(column_of_b, l) : b.at(l, column_of_b)));
    }
#pragma unroll
    for (int j = 0; j < C.thread_n; j += 2)
#pragma unroll
      for (int i = 0; i < C.thread_m; i += rows_together) multiply_by_warp(&a_part[i], b_part[j / 2], i, j);
  }
  // Rows of a thread tile that one tensor-core instruction multiplies.
  static constexpr int rows_together = C.multiply == GemmSmallMultiply::mma_16x8x4 ? 2 : 1;
  template <class Part>
  __device__ __forceinline__ void multiply_parts(Part part, const double (&a)[2], double b, int i, int j) {
    if constexpr (rows_together == 2) {
      double c[4] = {part(sum[j][i]), part(sum[j + 1][i]), part(sum[j][i + 1]), part(sum[j + 1][i + 1])};
      mma_16x8x4(c, a, b);
      part(sum[j][i]) = c[0];
      part(sum[j + 1][i]) = c[1];
      part(sum[j][i + 1]) = c[2];
      part(sum[j + 1][i + 1]) = c[3];
    } else {
      mma_8x8x4(part(sum[j][i]), part(sum[j + 1][i]), a[0], b);
    }
  }
  __device__ __forceinline__ void multiply_by_warp(const double* a, double b, int i, int j) {
    multiply_parts([](double& value) -> double& { return value; }, {a[0], a[rows_together - 1]}, b, i, j);
  }
  __device__ __forceinline__ void multiply_by_warp(const Complex<double>* a, Complex<double> b, int i,
                                                   int j) {
    constexpr int last = rows_together - 1;
    const auto re = [](Complex<double>& value) -> double& { return value.re; };
    const auto im = [](Complex<double>& value) -> double& { return value.im; };
    multiply_parts(re, {a[0].re, a[last].re}, b.re, i, j);
    multiply_parts(re, {-a[0].im, -a[last].im}, b.im, i, j);
    multiply_parts(im, {a[0].re, a[last].re}, b.im, i, j);
    multiply_parts(im, {a[0].im, a[last].im}, b.re, i, j);
  }
  template <class View>
  __device__ __forceinline__ void form_by_warp(View a, View b) {
    constexpr int whole = ceil_div(S.k, warp_k);
    constexpr int unroll = C.k_unroll == 0 ? whole : ceil_div(C.k_unroll, warp_k);
#pragma unroll unroll
    for (int l = 0; l < S.k; l += warp_k) accumulate_by_warp(a, b, l);
  }

  template <class View>
  __device__ __forceinline__ void form(View a, View b) {
    if constexpr (by_warp) {
      form_by_warp(a, b);
    } else if constexpr (S.sizes_vary && !direct) {
      form_along(a, b);
    } else {
#pragma unroll k_unroll
      for (int l = 0; l < sizes.k; l += k_step) accumulate(a, b, l);
    }
  }

  // Elements of C that are accessed together: rows of a pack, as far as both ends allow.
  static constexpr int c_pack() {
    constexpr bool from_shared = gemm_small_loads_c(S, C), to_shared = C.store != GemmSmallStore::direct;
    constexpr bool all_shared = to_shared && (from_shared || !S.reads_c);
    constexpr bool packed = S.step_c == GemmSmallStep::packed;
    if (!packed && !all_shared) return 1;
    constexpr int bytes = packed ? S.align_bytes : 16;
    return gemm_small_pack(row_pack, row_pack, gemm_small_c(S, sizeof(T)).ld,
                           gemm_small_pack_limit(bytes, sizeof(T)));
  }

  // For matrices by pointer, hides the origin of a column's address from the compiler, which would form each
  // element's address from the matrix's (four instructions instead of one) and keep them all in registers
  // until C is stored. In shared memory it must see the origin.
  template <class View>
  static constexpr bool by_column = gemm_small_has(S, GemmSmallStep::pointer) &&
                                    sizeof(View::ld) == sizeof(long long);
  template <class View>
  __device__ __forceinline__ auto* column_of(View c, int j) const {
    auto* in_column = c.at(0, column(j));
    if constexpr (by_column<View>) asm("" : "+l"(in_column));
    return in_column;
  }
  template <class View, class Element>
  __device__ __forceinline__ auto* place_of(View c, Element* in_column, int i, int j) const {
    if constexpr (by_column<View>)
      return in_column + row(i);
    else
      return c.at(row(i), column(j));
  }

  template <class From>
  __device__ __forceinline__ void read_old(From from, T beta) {
    constexpr int pack = c_pack();
    const bool adds = !S.scalars_vary || !is_zero(beta);
#pragma unroll
    for (int j = 0; j < C.thread_n; ++j) {
      const auto* const in_column = column_of(from, j);
#pragma unroll
      for (int i = 0; i < C.thread_m; i += pack) {
        Pack<T, pack> before{};
        if (adds && has_row(i) && has_column(j))
          before = *reinterpret_cast<const Pack<T, pack>*>(place_of(from, in_column, i, j));
#pragma unroll
        for (int e = 0; e < pack; ++e) old[j][i + e] = before.item[e];
      }
    }
  }

  // to = alpha sum + beta from; `from` and `to` are one C, in shared or global memory.
  template <class From, class To>
  __device__ __forceinline__ void finish(From from, To to, T alpha, T beta) const {
    constexpr int pack = c_pack();
    const bool scales = !S.scalars_vary || !is_zero(alpha), adds = !S.scalars_vary || !is_zero(beta);
#pragma unroll
    for (int j = 0; j < C.thread_n; ++j) {
      const auto* const in_from = column_of(from, j);
      auto* const in_to = column_of(to, j);
      if (!has_column(j)) continue;
#pragma unroll
      for (int i = 0; i < C.thread_m; i += pack) {
        if (!has_row(i)) continue;
        Pack<T, pack> before{};
        if constexpr (reads_early) {
#pragma unroll
          for (int e = 0; e < pack; ++e) before.item[e] = old[j][i + e];
        } else if constexpr (S.reads_c) {
          if (adds) before = *reinterpret_cast<const Pack<T, pack>*>(place_of(from, in_from, i, j));
        }
        Pack<T, pack> result;
#pragma unroll
        for (int e = 0; e < pack; ++e) {
          T value = zero<T>();
          if (scales) multiply_add(value, alpha, sum[j][i + e]);
          if constexpr (S.reads_c)
            if (adds) multiply_add(value, beta, before.item[e]);
          result.item[e] = value;
        }
        *reinterpret_cast<Pack<T, pack>*>(place_of(to, in_to, i, j)) = result;
      }
    }
  }
};

}  // namespace tilewright
