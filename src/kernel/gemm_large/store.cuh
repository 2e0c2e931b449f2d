// The steps after the main loop: combines the sums of tiles that several blocks share, and writes C = alpha
// sum + beta C, with checks for tiles that stick out only.
#pragma once

#include "kernel/gemm_large/device.cuh"
#include "kernel/gemm_large/work_config.hpp"

namespace tilewright {

// Real multiply-adds of a product, and real numbers of a value.
template <class T>
struct GemmLargeParts {
  static constexpr int count = 1, reals = 1;
  using Real = T;
  static __device__ __forceinline__ Real& real(T& value, int) { return value; }
};
template <class R>
struct GemmLargeParts<Complex<R>> {
  static constexpr int count = 4, reals = 2;
  using Real = R;
  static __device__ __forceinline__ R& real(Complex<R>& value, int part) {
    return part == 0 ? value.re : value.im;
  }
};

// Returns the matrix of a problem: of a batch, the one at its distance, or at its address. Arrays of
// addresses of matrices that are not `used` may not exist.
template <GemmLargeShape S, class T>
__device__ __forceinline__ T* matrix_of(T* first, long long stride, int problem, bool used = true) {
  if constexpr (S.batch == GemmLargeBatch::strided) return first + problem * stride;
  if constexpr (S.batch == GemmLargeBatch::pointers)
    return used ? reinterpret_cast<T* const*>(first)[problem] : nullptr;
  return first;
}

// The block's place in its cluster, and its column of tiles.
template <GemmLargeConfig C>
__device__ __forceinline__ int gemm_large_rank() {
  return C.cluster == 1 ? 0 : int(blockIdx.x) % C.cluster;
}
template <GemmLargeConfig C>
__device__ __forceinline__ int gemm_large_tile_n(const GemmLargeWork& work) {
  return work.tile_n * C.cluster + gemm_large_rank<C>();
}

// Sums move between threads as single real numbers: pairs would need neighbouring registers in the main loop
// too, in unfavourable banks (c64: 0.80 of the peak instead of 0.92, by the machine code).

// Sums `count` parts in their order, with as many reads in flight as registers allow.
template <class Product, class Slot>
__device__ __forceinline__ void add_parts(Product& product, int count, int workers, Slot slot) {
  using Real = typename Product::Real;
  constexpr int registers = Product::real_count * int(sizeof(Real)) / 4;
  [[maybe_unused]] constexpr int together = registers <= 32 ? 4 : registers <= 64 ? 2 : 1;
#pragma unroll
  for (int i = 0; i < Product::real_count; ++i) product.real(i) = 0;
#pragma unroll together
  for (int part = 0; part < count; ++part) {
    const Real* other = slot(part);
#pragma unroll
    for (int i = 0; i < Product::real_count; ++i) product.real(i) += read_foreign(other + i * workers);
  }
}

// Adds the sums of the groups of warps that shared each stage's k, in the order of k, through the stages'
// memory, which must have been read. Returns true for the group that then has them.
template <GemmLargeConfig C, class Product>
__device__ __forceinline__ bool add_groups(Product& product, unsigned char* shared) {
  using Real = typename Product::Real;
  constexpr int writers = gemm_large_writers(C);
  const int thread = read_thread_again(), group = thread / writers;
  Real* const own = reinterpret_cast<Real*>(shared) + thread % writers;
  sync_workers<gemm_large_workers(C)>();
  if (group > 0) {
#pragma unroll
    for (int i = 0; i < Product::real_count; ++i)
      own[((group - 1) * Product::real_count + i) * writers] = product.real(i);
  }
  sync_workers<gemm_large_workers(C)>();
  if (group > 0) return false;
#pragma unroll 1
  for (int other = 0; other + 1 < C.warps_k; ++other)
#pragma unroll
    for (int i = 0; i < Product::real_count; ++i)
      product.real(i) += own[(other * Product::real_count + i) * writers];
  return true;
}

// Returns true for the block that has the tile's whole sum. The last block to arrive in each group sums its
// parts, then groups likewise, in the order of k, so that the result does not depend on the order of arrival.
template <GemmLargeConfig C, class Product, class Args>
__device__ __forceinline__ bool combine(Product& product, const Args& args, const GemmLargeGrid& grid,
                                        const GemmLargeWork& work, unsigned* word) {
  using Real = typename Product::Real;
  if constexpr (!gemm_large_shares(C)) return true;
  constexpr int workers = gemm_large_writers(C);
  constexpr GemmLargeConfig clusters = gemm_large_of_clusters(C);
  const auto of_block = [](long long of_cluster) { return of_cluster * C.cluster + gemm_large_rank<C>(); };
  const auto slot = [&](int part) {
    return static_cast<Real*>(args.workspace) +
           of_block(gemm_large_slot(clusters, grid, work, part)) *
               (static_cast<long long>(Product::real_count) * workers) +
           read_thread_again();
  };
  unsigned* counter =
      args.counters + of_block(work.tile) * gemm_large_counters(gemm_large_most_parts(clusters, grid));
  int index = work.part, stride = 1;
#pragma unroll 1
  for (int count = work.parts; count > 1;) {
    const int size = gemm_large_group_size(count), group = index / size, first = group * size;
    const int members = count - first < size ? count - first : size;
    if (members > 1) {
      Real* own = slot(index * stride);
#pragma unroll
      for (int i = 0; i < Product::real_count; ++i) own[i * workers] = product.real(i);
      __threadfence();
      sync_workers<workers>();
      if (threadIdx.x == 0) *word = atomicAdd(counter + group, 1u);
      sync_workers<workers>();
      if (*word != static_cast<unsigned>(members - 1)) return false;
      __threadfence();
      if (threadIdx.x == 0) counter[group] = 0;
      add_parts(product, members, workers, [&](int part) { return slot((first + part) * stride); });
    }
    count = (count + size - 1) / size;
    counter += count;
    index = group;
    stride *= size;
  }
  return true;
}

// Elements of one access to C.
template <GemmLargeShape S, GemmLargeConfig C, class T, int Count>
constexpr int gemm_large_store_part() {
  constexpr int bytes = S.align_c < C.store_bytes ? S.align_c : C.store_bytes;
  constexpr int wide = bytes / int(sizeof(T)) > 0 ? bytes / int(sizeof(T)) : 1;
  return wide < Count ? wide : Count;
}

// A pack of rows of one column of C. Checked: skips rows and columns beyond C.
template <GemmLargeShape S, GemmLargeConfig C, bool Checked, class T, int Count>
__device__ __forceinline__ void load_pack(const T* c, int rows_left, bool column_exists,
                                          Pack<T, Count>& old) {
  constexpr int part = gemm_large_store_part<S, C, T, Count>();
  if (Checked && !column_exists) return;
#pragma unroll
  for (int first = 0; first < Count; first += part) {
    if (!Checked || first + part <= rows_left) {
      const auto some = *reinterpret_cast<const Pack<T, part>*>(c + first);
#pragma unroll
      for (int e = 0; e < part; ++e) old.item[first + e] = some.item[e];
    } else {
#pragma unroll
      for (int e = 0; e < part; ++e)
        if (first + e < rows_left) old.item[first + e] = c[first + e];
    }
  }
}

// 16 bytes of a column.
__device__ __forceinline__ void store_whole(double* c, const Pack<double, 2>& x) {
  store_chunk(c, x.item[0], x.item[1]);
}
__device__ __forceinline__ void store_whole(float* c, const Pack<float, 4>& x) {
  store_chunk(c, x.item[0], x.item[1], x.item[2], x.item[3]);
}
__device__ __forceinline__ void store_whole(Complex<double>* c, const Pack<Complex<double>, 1>& x) {
  store_chunk(&c->re, x.item[0].re, x.item[0].im);
}
__device__ __forceinline__ void store_whole(Complex<float>* c, const Pack<Complex<float>, 2>& x) {
  store_chunk(&c->re, x.item[0].re, x.item[0].im, x.item[1].re, x.item[1].im);
}

// Returns alpha sum + beta old, where old is used only if C is read.
template <GemmLargeShape S, GemmLargeConfig C, bool Checked, class T, int Count>
__device__ __forceinline__ void store_pack(T* c, int rows_left, bool column_exists, const Pack<T, Count>& sum,
                                           const Pack<T, Count>& old, T alpha, T beta) {
  constexpr int part = gemm_large_store_part<S, C, T, Count>();
  if (Checked && !column_exists) return;
#pragma unroll
  for (int first = 0; first < Count; first += part) {
    Pack<T, part> result;
#pragma unroll
    for (int e = 0; e < part; ++e) {
      result.item[e] = zero<T>();
      multiply_add(result.item[e], alpha, sum.item[first + e]);
      if constexpr (S.reads_c) multiply_add(result.item[e], beta, old.item[first + e]);
    }
    if (!Checked || first + part <= rows_left) {
      if constexpr (sizeof(result) == gemm_large_chunk)
        store_whole(c + first, result);
      else
        *reinterpret_cast<Pack<T, part>*>(c + first) = result;
    } else {
#pragma unroll
      for (int e = 0; e < part; ++e)
        if (first + e < rows_left) c[first + e] = result.item[e];
    }
  }
}

// The place of a tile's elements in C, and how many belong to C.
template <class T>
struct GemmLargeTarget {
  T* c;
  long long ldc;
  int rows, columns;
  T alpha, beta;
};

// Stores packs of a thread's sums from `First` on. If C is read, as many reads as 128 bytes hold are in
// flight: the compiler moves none before a store to C, and each takes a latency.
template <GemmLargeShape S, GemmLargeConfig C, bool Checked, int First, class Product, class T>
__device__ __forceinline__ void store_packs(const Product& product, const typename Product::Place& place,
                                            const GemmLargeTarget<T>& to) {
  constexpr int count = Product::store_pack;
  constexpr int packs = Product::value_count * int(sizeof(typename Product::Value)) / int(sizeof(T)) / count;
  constexpr int together = S.reads_c ? 128 / (count * int(sizeof(T))) : packs;
  constexpr int last = First + together < packs ? First + together : packs;
  Pack<T, count> old[S.reads_c ? together : 1];
  if constexpr (S.reads_c)
    product.template for_each<First, last>(place, [&](int n, int i, int j, const auto&) {
      load_pack<S, C, Checked>(to.c + j * to.ldc + i, to.rows - i, j < to.columns, old[n]);
    });
  product.template for_each<First, last>(place, [&](int n, int i, int j, const auto& sum) {
    store_pack<S, C, Checked>(to.c + j * to.ldc + i, to.rows - i, j < to.columns, sum, old[S.reads_c ? n : 0],
                              to.alpha, to.beta);
  });
  if constexpr (last < packs) store_packs<S, C, Checked, last>(product, place, to);
}

// True for tiles of batches whose reads of C are worth a prefetch: those of complex numbers, which are many,
// and those that stick out, which are single numbers. For others it delays A and B (H200, f64: 6 % at n = 80
// to 160).
template <GemmLargeConfig C, class Args>
__device__ __forceinline__ bool gemm_large_prefetches(const Args& args, const GemmLargeWork& work) {
  using T = decltype(args.alpha);
  return GemmLargeParts<T>::reals == 2 || (work.tile_m + 1ll) * C.tile_m > args.m ||
         (work.tile_n + 1ll) * C.tile_n > args.n;
}
// Fetches a tile of C into L2 while A and B are multiplied.
template <GemmLargeShape S, GemmLargeConfig C, class Args>
__device__ __forceinline__ void prefetch_tile(const Args& args, const GemmLargeWork& work) {
  constexpr int line = 128 / int(sizeof(args.alpha));
  const long long row = static_cast<long long>(work.tile_m) * C.tile_m;
  const long long column = static_cast<long long>(work.tile_n) * C.tile_n;
  const auto* const c = matrix_of<S>(args.c, args.stride_c, work.problem) + column * args.ldc + row;
  const int rows = args.m - row < C.tile_m ? int(args.m - row) : C.tile_m;
  const int columns = args.n - column < C.tile_n ? int(args.n - column) : C.tile_n;
  for (int j = int(threadIdx.x); j < columns; j += gemm_large_workers(C)) {
    for (int i = 0; i < rows; i += line) prefetch_line(c + j * args.ldc + i);
    prefetch_line(c + j * args.ldc + rows - 1);
  }
}

template <GemmLargeShape S, GemmLargeConfig C, class Product, class Args>
__device__ __forceinline__ void store_tile(const Product& product, const Args& args,
                                           const GemmLargeWork& work) {
  const long long row = static_cast<long long>(work.tile_m) * C.tile_m;
  const long long column = static_cast<long long>(gemm_large_tile_n<C>(work)) * C.tile_n;
  const long long ldc = here(args.ldc);
  auto* const c = matrix_of<S>(args.c, args.stride_c, work.problem);
  GemmLargeTarget<decltype(args.alpha)> to{
      c + column * ldc + row, ldc, C.tile_m, C.tile_n, args.alpha, args.beta};
  const auto place = Product::place_again();
  const int rows = args.m - row < C.tile_m ? int(args.m - row) : C.tile_m;
  const int columns = args.n - column < C.tile_n ? int(args.n - column) : C.tile_n;
  if (rows == C.tile_m && columns == C.tile_n)
    store_packs<S, C, false, 0>(product, place, to);
  else {
    to.rows = rows;
    to.columns = columns;
    store_packs<S, C, true, 0>(product, place, to);
  }
}

}  // namespace tilewright
