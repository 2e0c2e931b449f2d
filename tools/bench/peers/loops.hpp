// Plain loops with compile-time sizes, the code a programmer would write: ijk computes each element of C as a
// dot product, ikj adds multiples of columns of A to a column of C. The compiler vectorises them, once with
// 256-bit and once with 512-bit vectors; the better counts. Included by one source per type, built for this
// processor.
#pragma once

#include "fixed_kernel.hpp"
#include "sizes.hpp"

#define TILEWRIGHT_INLINE inline __attribute__((always_inline))

namespace tilewright::peers {
namespace {

template <class T, int M, int N, int K, bool Accumulate>
TILEWRIGHT_INLINE void multiply_ijk(const T* __restrict a, const T* __restrict b, T* __restrict c) {
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < M; ++i) {
      T sum = Accumulate ? c[j * M + i] : T(0);
      for (int l = 0; l < K; ++l) sum += a[l * M + i] * b[j * K + l];
      c[j * M + i] = sum;
    }
}

template <class T, int M, int N, int K, bool Accumulate>
TILEWRIGHT_INLINE void multiply_ikj(const T* __restrict a, const T* __restrict b, T* __restrict c) {
  for (int j = 0; j < N; ++j) {
    T column[M];
    for (int i = 0; i < M; ++i) column[i] = Accumulate ? c[j * M + i] : T(0);
    for (int l = 0; l < K; ++l)
      for (int i = 0; i < M; ++i) column[i] += a[l * M + i] * b[j * K + l];
    for (int i = 0; i < M; ++i) c[j * M + i] = column[i];
  }
}

enum class LoopOrder { ijk, ikj };

template <class T, LoopOrder Order, int M, int N, int K, bool Accumulate>
TILEWRIGHT_INLINE void multiply_batch(const T* a, const T* b, T* c, std::int64_t count) {
  for (std::int64_t p = 0; p < count; ++p) {
    if constexpr (Order == LoopOrder::ijk)
      multiply_ijk<T, M, N, K, Accumulate>(a + p * M * K, b + p * K * N, c + p * M * N);
    else
      multiply_ikj<T, M, N, K, Accumulate>(a + p * M * K, b + p * K * N, c + p * M * N);
  }
}

template <class T, LoopOrder Order, int M, int N, int K, bool Accumulate>
void batch(const T* a, const T* b, T* c, std::int64_t count) {
  multiply_batch<T, Order, M, N, K, Accumulate>(a, b, c, count);
}

#ifdef __AVX512F__
template <class T, LoopOrder Order, int M, int N, int K, bool Accumulate>
__attribute__((target("prefer-vector-width=512"))) void batch_512(const T* a, const T* b, T* c,
                                                                  std::int64_t count) {
  multiply_batch<T, Order, M, N, K, Accumulate>(a, b, c, count);
}
#define TILEWRIGHT_LOOP_512(m, n, k, accumulate) \
  {m, n, k, accumulate, "512-bit", &batch_512<T, Order, m, n, k, accumulate>},
#else
#define TILEWRIGHT_LOOP_512(m, n, k, accumulate)
#endif

#define TILEWRIGHT_LOOP(m, n, k)                                   \
  {m, n, k, false, "256-bit", &batch<T, Order, m, n, k, false>},   \
      {m, n, k, true, "256-bit", &batch<T, Order, m, n, k, true>}, \
      TILEWRIGHT_LOOP_512(m, n, k, false) TILEWRIGHT_LOOP_512(m, n, k, true)

template <class T, LoopOrder Order>
constexpr FixedKernel<T> loop_kernels[] = {TILEWRIGHT_PEER_SIZES(TILEWRIGHT_LOOP)};

template <class T, LoopOrder Order>
FixedTable<T> loop_table() {
  return {loop_kernels<T, Order>, int(sizeof(loop_kernels<T, Order>) / sizeof(FixedKernel<T>)),
          TILEWRIGHT_TABLE_ISA};
}

}  // namespace
}  // namespace tilewright::peers
