// The stencil of batches whose problems have values of their own in device memory: addresses, sizes, alpha
// and beta. The grid has the tiles of the largest problem for each; a block reads its problem's values, and
// ends at once if the problem is bad or its tile lies outside. A bad problem gets its code and no work.
#pragma once

#include "kernel/gemm_large/list_config.hpp"
#include "kernel/gemm_large/stencil.cuh"

namespace tilewright {

template <class R>
__device__ __forceinline__ bool is_one(R value) {
  return value == 1;
}
template <class R>
__device__ __forceinline__ bool is_one(Complex<R> value) {
  return value.re == 1 && value.im == 0;
}

// Returns minus the number of the first bad argument of Batched BLAS (m is 3, ldc 13), 0 if the sizes are
// good.
template <GemmLargeShape S, class T>
__device__ __forceinline__ int gemm_large_size_code(const GemmLargeListArgs<T>& list,
                                                    const GemmLargeArgs<T>& one) {
  const long long rows_a = S.trans_a ? one.k : one.m, rows_b = S.trans_b ? one.n : one.k;
  if (one.m < 0 || one.m > list.m) return -3;
  if (one.n < 0 || one.n > list.n) return -4;
  if (one.k < 0 || one.k > list.k) return -5;
  if (one.lda < 1 || one.lda < rows_a) return -8;
  if (one.ldb < 1 || one.ldb < rows_b) return -10;
  if (one.ldc < 1 || one.ldc < one.m) return -13;
  return 0;
}

// Reads the values of problem `q`, with k = 0 if A and B are not multiplied, in which case their addresses
// are not read. Returns its code, or 1 if there is nothing to do.
template <GemmLargeShape S, class T>
__device__ __forceinline__ int read_problem(const GemmLargeListArgs<T>& list, int q, GemmLargeArgs<T>& one) {
  const bool own_sizes = list.sizes_m != nullptr;
  const auto size = [&](const long long* sizes, long long of_all) { return own_sizes ? sizes[q] : of_all; };
  const auto matrix = [&](auto* first, long long stride) {
    return list.addresses ? reinterpret_cast<decltype(first) const*>(first)[q] : first + q * stride;
  };
  one.m = size(list.sizes_m, list.m);
  one.n = size(list.sizes_n, list.n);
  one.k = size(list.sizes_k, list.k);
  one.lda = size(list.sizes_lda, list.lda);
  one.ldb = size(list.sizes_ldb, list.ldb);
  one.ldc = size(list.sizes_ldc, list.ldc);
  if (own_sizes)
    if (const int code = gemm_large_size_code<S>(list, one); code != 0) return code;
  if (one.m == 0 || one.n == 0) return 1;
  one.alpha = list.alphas != nullptr ? list.alphas[q] : list.alpha;
  one.beta = list.betas != nullptr ? list.betas[q] : list.beta;
  one.a = one.b = nullptr;
  if (is_zero(one.alpha)) one.k = 0;
  if (one.k > 0) {
    one.a = matrix(list.a, list.stride_a);
    one.b = matrix(list.b, list.stride_b);
    if (one.a == nullptr) return -7;
    if (one.b == nullptr) return -9;
  } else {
    one.alpha = zero<T>();
  }
  one.c = matrix(list.c, list.stride_c);
  if (one.c == nullptr) return -12;
  return one.k == 0 && is_one(one.beta) ? 1 : 0;
}

// Returns the block's tile among those of the largest problem, from values that the compiler cannot keep.
template <GemmLargeConfig C, class T>
__device__ __forceinline__ GemmLargeWork find_tile(const GemmLargeListArgs<T>& list) {
  GemmLargeWork work;
  const GemmLargeGrid grid =
      gemm_large_grid(C, here(list.m), here(list.n), here(list.k), int(here(gridDim.x)));
  gemm_large_batch_unit(C, grid, list.problems, int(here(blockIdx.x)), 0, work);
  return work;
}

constexpr GemmLargeShape gemm_large_overwriting(GemmLargeShape s) {
  s.reads_c = false;
  return s;
}

template <class T, GemmLargeShape S, GemmLargeConfig C>
__global__ void __launch_bounds__(gemm_large_threads(C), C.blocks_per_sm)
    gemm_large_list(const __grid_constant__ GemmLargeListArgs<T> list) {
  extern __shared__ __align__(1024) unsigned char shared[];
  using Ring = GemmLargeThreadRing<T, S, C>;
  using Product =
      typename GemmLargeEither<gemm_large_is_mma(C), GemmLargeMma<T, S, C>, GemmLargeFma<T, S, C>>::Type;
  constexpr GemmLargeMemory memory = gemm_large_memory(S, C, sizeof(T));
  if constexpr (C.dependent_launch) {
    wait_for_launch_before();
    let_next_launch_begin();
  }
  GemmLargeWork work = find_tile<C>(list);
  GemmLargeArgs<T> one;
  const int code = read_problem<S>(list, work.problem, one);
  if (code < 0 && work.tile == 0 && threadIdx.x == 0 && list.info != nullptr)
    atomicCAS(list.info + work.problem * list.info_step, 0, code);
  if (code != 0 || static_cast<long long>(work.tile_m) * C.tile_m >= one.m ||
      static_cast<long long>(work.tile_n) * C.tile_n >= one.n)
    return;
  work.k_end = static_cast<int>((one.k + C.tile_k - 1) / C.tile_k);
  const GemmLargeSpan span = gemm_large_span<C>(one, work);
  Ring ring(one, shared);
  ring.start(span, 0);
  if constexpr (S.reads_c)
    if (!is_zero(one.beta) && gemm_large_prefetches<C>(one, work)) prefetch_tile<S, C>(one, work);
  Product product(one);
#pragma unroll
  for (int i = 0; i < Product::value_count; ++i) product.value(i) = typename Product::Value{};
  multiply_span<T, S, C>(product, ring, span, shared + memory.sums_offset);

  // Found and read again, so that no register holds them through the product.
  const GemmLargeWork same = find_tile<C>(list);
  read_problem<S>(list, same.problem, one);
  if (is_zero(one.beta))
    store_tile<gemm_large_overwriting(S), C>(product, one, same);
  else
    store_tile<S, C>(product, one, same);
}

}  // namespace tilewright
