// What one problem of a batch of pointers is: its matrices and, where sizes vary, its sizes. Read from the
// arrays of the launch and judged: a bad problem gets its code and no work, and harms no other.
#pragma once

#include "kernel/gemm_small_config.hpp"
#include "kernel/gpu_element.cuh"

namespace tilewright {

// Sizes of a problem: constants of the shape, or its own.
template <GemmSmallShape S, GemmSmallConfig C>
struct GemmSmallFixedSizes {
  static constexpr int m = S.m, n = S.n, k = S.k;
  static constexpr int tiles_m = gemm_small_tiles_m(S, C), tiles_n = gemm_small_tiles_n(S, C);
};
struct GemmSmallSizes {
  int m, n, k;
  int lda, ldb, ldc;
};
template <GemmSmallConfig C>
struct GemmSmallOwnSizes {
  int m, n, k, tiles_m, tiles_n;

  explicit __device__ __forceinline__ GemmSmallOwnSizes(GemmSmallSizes s)
      : m(s.m), n(s.n), k(s.k), tiles_m(ceil_div(s.m, C.thread_m)), tiles_n(ceil_div(s.n, C.thread_n)) {}
};

// A null C marks a problem without work; null A and B one that only scales C.
template <class T>
struct GemmSmallEntry {
  const T* a;
  const T* b;
  T* c;
};

template <class T>
__device__ __forceinline__ T gemm_small_alpha(const GemmSmallArgs<T>& args, bool vary, long long problem) {
  return vary ? args.alphas[problem < args.count ? problem : args.count - 1] : args.alpha;
}
template <class T>
__device__ __forceinline__ T gemm_small_beta(const GemmSmallArgs<T>& args, bool vary, long long problem) {
  return vary ? args.betas[problem < args.count ? problem : args.count - 1] : args.beta;
}

// The group of a problem: the last one that begins at or before it.
template <class T>
__device__ __forceinline__ long long gemm_small_group(const GemmSmallArgs<T>& args, long long problem) {
  if (args.group_count == 0) return problem;
  long long low = 0, high = args.group_count;
  while (high - low > 1) {
    const long long middle = (low + high) / 2;
    if (args.group_firsts[middle] <= problem)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// Minus the number of the first bad argument of Batched BLAS (m is 3, ldc 13), 0 where the sizes are good, 1
// where another launch takes the problem.
template <GemmSmallShape S, class T>
__device__ __forceinline__ int gemm_small_read_sizes(const GemmSmallArgs<T>& args, long long problem,
                                                     GemmSmallSizes& sizes) {
  const long long g = gemm_small_group(args, problem);
  const long long m = args.sizes_m[g], n = args.sizes_n[g], k = args.sizes_k[g];
  const long long lda = args.sizes_lda[g], ldb = args.sizes_ldb[g], ldc = args.sizes_ldc[g];
  constexpr long long most = 2147483647;
  sizes = {int(m), int(n), int(k), int(lda), int(ldb), int(ldc)};
  if (m < 0) return -3;
  if (n < 0) return -4;
  if (k < 0) return -5;
  const long long largest = m > n ? (m > k ? m : k) : (n > k ? n : k);
  if (args.above > 0 && largest <= args.above) return 1;
  if (m > S.m || n > S.n || k > S.k) return !args.last ? 1 : m > S.m ? -3 : n > S.n ? -4 : -5;
  const long long rows_a = S.trans_a ? k : m, rows_b = S.trans_b ? n : k;
  if (lda < 1 || lda < rows_a || lda > most) return -8;
  if (ldb < 1 || ldb < rows_b || ldb > most) return -10;
  if (ldc < 1 || ldc < m || ldc > most) return -13;
  return 0;
}

// Reads and judges a problem; its code goes where the launch wants it.
template <GemmSmallShape S, class T>
__device__ __forceinline__ GemmSmallEntry<T> gemm_small_read_entry(const GemmSmallArgs<T>& args,
                                                                   long long problem, GemmSmallSizes& sizes) {
  const auto one = [&](GemmSmallStep step, auto base, long long stride) {
    using Base = decltype(base);
    if (step == GemmSmallStep::pointer) return reinterpret_cast<const Base*>(base)[problem];
    return base + (step == GemmSmallStep::broadcast ? 0 : problem * stride);
  };
  constexpr GemmSmallOperand a = gemm_small_a(S, sizeof(T)), b = gemm_small_b(S, sizeof(T)),
                             c = gemm_small_c(S, sizeof(T));
  GemmSmallEntry<T> entry{one(S.step_a, args.a, a.contiguous ? a.elements : args.stride_a),
                          one(S.step_b, args.b, b.contiguous ? b.elements : args.stride_b),
                          one(S.step_c, args.c, c.contiguous ? c.elements : args.stride_c)};
  int code = 0;
  sizes = {S.m, S.n, S.k, S.lda, S.ldb, S.ldc};
  if constexpr (S.sizes_vary) code = gemm_small_read_sizes<S>(args, problem, sizes);
  const bool works = code == 0 && sizes.m > 0 && sizes.n > 0;
  const bool multiplies = works && sizes.k > 0 && !is_zero(gemm_small_alpha(args, S.scalars_vary, problem));
  if (multiplies && entry.a == nullptr)
    code = -7;
  else if (multiplies && entry.b == nullptr)
    code = -9;
  else if (works && entry.c == nullptr)
    code = -12;
  if (args.info != nullptr && code < 0) atomicCAS(args.info + problem * args.info_step, 0, code);
  if (!works || code != 0) entry.c = nullptr;
  if (!multiplies || code != 0) entry.a = entry.b = nullptr;
  return entry;
}

}  // namespace tilewright
