// The entry of a problem of a pointer batch: its matrices and, if sizes vary, its sizes, loaded from the
// launch's arrays and checked. A bad problem gets its code and no work. Staging blocks keep entries in a ring
// of shared memory.
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/common/element.cuh"
#include "kernel/gemm_small/config.hpp"

namespace tilewright {

// Sizes of a problem: constants of the shape, or its own.
template <GemmSmallShape S, GemmSmallConfig C>
struct GemmSmallFixedSizes {
  static constexpr int m = S.m, n = S.n, k = S.k;
  static constexpr int tiles_m = gemm_small_tiles_m(S, C), tiles_n = gemm_small_tiles_n(S, C);
};
struct GemmSmallSizes {  // as in the arrays
  long long m, n, k;
  long long lda, ldb, ldc;
};
struct GemmSmallOwnSizes {
  int m, n, k;

  explicit __device__ __forceinline__ GemmSmallOwnSizes(const GemmSmallSizes& s)
      : m(int(s.m)), n(int(s.n)), k(int(s.k)) {}
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

// Returns the group of a problem: the last one that begins at or before it.
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

// Returns minus the number of the first bad argument of Batched BLAS (m is 3, ldc 13), 0 if the sizes are
// good, 1 if another launch takes the problem.
template <GemmSmallShape S, class Int, class T>
__device__ __forceinline__ int gemm_small_code_of(const GemmSmallArgs<T>& args, Int m, Int n, Int k, Int lda,
                                                  Int ldb, Int ldc) {
  constexpr Int most = 2147483647;
  if (m < 0) return -3;
  if (n < 0) return -4;
  if (k < 0) return -5;
  const Int largest = m > n ? (m > k ? m : k) : (n > k ? n : k);
  if (args.above > 0 && largest <= args.above) return 1;
  if (m > S.m || n > S.n || k > S.k) return !args.last ? 1 : m > S.m ? -3 : n > S.n ? -4 : -5;
  const Int rows_a = S.trans_a ? k : m, rows_b = S.trans_b ? n : k;
  if (lda < 1 || lda < rows_a || lda > most) return -8;
  if (ldb < 1 || ldb < rows_b || ldb > most) return -10;
  if (ldc < 1 || ldc < m || ldc > most) return -13;
  return 0;
}
// A warp checks each problem that it multiplies; if all sizes fit 32 bits this takes half the instructions.
template <GemmSmallShape S, class T>
__device__ __forceinline__ int gemm_small_size_code(const GemmSmallArgs<T>& args, const GemmSmallSizes& s) {
  if (((s.m | s.n | s.k | s.lda | s.ldb | s.ldc) >> 31) != 0)
    return gemm_small_code_of<S, long long>(args, s.m, s.n, s.k, s.lda, s.ldb, s.ldc);
  return gemm_small_code_of<S, int>(args, int(s.m), int(s.n), int(s.k), int(s.lda), int(s.ldb), int(s.ldc));
}

// Loads a problem's values from the launch's arrays, each by `bring(to, from)`.
template <GemmSmallShape S, class T, class Bring>
__device__ __forceinline__ void gemm_small_bring_entry(const GemmSmallArgs<T>& args, long long problem,
                                                       GemmSmallEntry<T>& entry, GemmSmallSizes& sizes,
                                                       Bring bring) {
  const auto address = [&](GemmSmallStep step, auto& to, auto base) {
    if (step == GemmSmallStep::pointer) bring(&to, reinterpret_cast<const decltype(base)*>(base) + problem);
  };
  address(S.step_a, entry.a, args.a);
  address(S.step_b, entry.b, args.b);
  address(S.step_c, entry.c, args.c);
  if constexpr (S.sizes_vary) {
    const long long g = gemm_small_group(args, problem);
    bring(&sizes.m, args.sizes_m + g);
    bring(&sizes.n, args.sizes_n + g);
    bring(&sizes.k, args.sizes_k + g);
    bring(&sizes.lda, args.sizes_lda + g);
    bring(&sizes.ldb, args.sizes_ldb + g);
    bring(&sizes.ldc, args.sizes_ldc + g);
  }
}

// Checks a problem's loaded values and stores its code where the launch requests it.
template <GemmSmallShape S, class T>
__device__ __forceinline__ GemmSmallEntry<T> gemm_small_judged(const GemmSmallArgs<T>& args,
                                                               long long problem, GemmSmallEntry<T> entry,
                                                               const GemmSmallSizes& sizes) {
  const auto complete = [&](GemmSmallStep step, auto& address, auto base, long long stride) {
    if (step != GemmSmallStep::pointer)
      address = base + (step == GemmSmallStep::broadcast ? 0 : problem * stride);
  };
  constexpr GemmSmallOperand a = gemm_small_a(S, sizeof(T)), b = gemm_small_b(S, sizeof(T)),
                             c = gemm_small_c(S, sizeof(T));
  complete(S.step_a, entry.a, args.a, a.contiguous ? a.elements : args.stride_a);
  complete(S.step_b, entry.b, args.b, b.contiguous ? b.elements : args.stride_b);
  complete(S.step_c, entry.c, args.c, c.contiguous ? c.elements : args.stride_c);
  int code = 0;
  if constexpr (S.sizes_vary) code = gemm_small_size_code<S>(args, sizes);
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

// The entries of a block's tiles. Asynchronous copies bring them with the operands of the tile C.stages
// earlier, and threads check them while other tiles are multiplied, so that nobody waits.
template <class T, GemmSmallShape S, GemmSmallConfig C>
struct GemmSmallEntries {
  using Entry = GemmSmallEntry<T>;
  static constexpr int slots = gemm_small_entry_slots(S, C);

  const GemmSmallArgs<T>& args;
  unsigned char* memory;

  __device__ __forceinline__ Entry& entry(int slot, int q) const {
    return reinterpret_cast<Entry*>(memory)[slot * C.matrices_per_block + q];
  }
  __device__ __forceinline__ GemmSmallSizes& sizes(int slot, int q) const {
    auto* all = reinterpret_cast<GemmSmallSizes*>(memory + slots * C.matrices_per_block * sizeof(Entry));
    return all[slot * C.matrices_per_block + q];
  }

  // Requests the entries of `count` problems, by thread `threadIdx.x` of `threads`.
  __device__ __forceinline__ void ask(long long first, int count, int slot, int threads) const {
    for (int q = threadIdx.x; q < count; q += threads)
      gemm_small_bring_entry<S>(args, first + q, entry(slot, q), sizes(slot, q),
                                [](auto* to, const auto* from) { copy_async<8>(to, from); });
  }
  // Checks the loaded entries, one per thread; called by all threads.
  __device__ __forceinline__ void judge(long long first, int count, int slot) const {
    for (int q = threadIdx.x; q < count; q += C.threads)
      entry(slot, q) = gemm_small_judged<S>(args, first + q, entry(slot, q), own_sizes(slot, q));
  }
  __device__ __forceinline__ GemmSmallSizes own_sizes(int slot, int q) const {
    if constexpr (S.sizes_vary) return sizes(slot, q);
    return {S.m, S.n, S.k, S.lda, S.ldb, S.ldc};
  }
  // Without stages: reads and checks an entry when it is needed.
  static __device__ __forceinline__ Entry read(const GemmSmallArgs<T>& args, long long problem,
                                               GemmSmallSizes& own) {
    Entry raw{};
    own = {S.m, S.n, S.k, S.lda, S.ldb, S.ldc};
    gemm_small_bring_entry<S>(args, problem, raw, own, [](auto* to, const auto* from) { *to = *from; });
    return gemm_small_judged<S>(args, problem, raw, own);
  }
};

}  // namespace tilewright
