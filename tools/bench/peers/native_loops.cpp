// Plain loops, the code a programmer would write. With compile-time sizes, ijk computes each element of C as
// a dot product, ikj adds multiples of columns of A to a column of C; the compiler vectorises them, once with
// 256-bit and once with 512-bit vectors, and the better counts. Over interleaved data: one vector of problems
// per block and a four-column register block. Built for this processor.
#include "native.hpp"

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
          TILEWRIGHT_BUILT_FOR};
}

// Computes `Lanes` problems together: C columns j .. j + Columns of one row i.
template <class T, int Lanes, int Columns, bool Accumulate>
TILEWRIGHT_INLINE void row_block(const InterleavedCall& call, const T* a, const T* b, T* c, std::int64_t i,
                                 std::int64_t j) {
  typedef T Vector __attribute__((vector_size(Lanes * sizeof(T)), aligned(sizeof(T))));
  Vector sum[Columns];
  for (int q = 0; q < Columns; ++q) {
    const auto* at = reinterpret_cast<const Vector*>(c + ((j + q) * call.ldc + i) * Lanes);
    sum[q] = Accumulate ? *at : Vector{};
  }
  for (std::int64_t l = 0; l < call.k; ++l) {
    const Vector x = *reinterpret_cast<const Vector*>(a + (l * call.lda + i) * Lanes);
    for (int q = 0; q < Columns; ++q)
      sum[q] += x * *reinterpret_cast<const Vector*>(b + ((j + q) * call.ldb + l) * Lanes);
  }
  for (int q = 0; q < Columns; ++q) *reinterpret_cast<Vector*>(c + ((j + q) * call.ldc + i) * Lanes) = sum[q];
}

template <class T, int Lanes, bool Accumulate>
void run_interleaved(const InterleavedCall& call, const T* a, const T* b, T* c) {
  for (std::int64_t block = 0; block < call.blocks; ++block) {
    for (std::int64_t j = 0; j + 4 <= call.n; j += 4)
      for (std::int64_t i = 0; i < call.m; ++i) row_block<T, Lanes, 4, Accumulate>(call, a, b, c, i, j);
    for (std::int64_t j = call.n / 4 * 4; j < call.n; ++j)
      for (std::int64_t i = 0; i < call.m; ++i) row_block<T, Lanes, 1, Accumulate>(call, a, b, c, i, j);
    a += call.lda * call.k * Lanes;
    b += call.ldb * call.n * Lanes;
    c += call.ldc * call.n * Lanes;
  }
}

template <class T>
InterleavedLoop<T> interleaved_loop() {
#if defined(__AVX512F__)
  constexpr int lanes = 64 / sizeof(T);
#else
  constexpr int lanes = 32 / sizeof(T);
#endif
  return {&run_interleaved<T, lanes, false>, &run_interleaved<T, lanes, true>, lanes, TILEWRIGHT_BUILT_FOR};
}

}  // namespace

FixedTable<float> loop_ijk_f32() { return loop_table<float, LoopOrder::ijk>(); }
FixedTable<float> loop_ikj_f32() { return loop_table<float, LoopOrder::ikj>(); }
FixedTable<double> loop_ijk_f64() { return loop_table<double, LoopOrder::ijk>(); }
FixedTable<double> loop_ikj_f64() { return loop_table<double, LoopOrder::ikj>(); }
InterleavedLoop<float> interleaved_loop_f32() { return interleaved_loop<float>(); }
InterleavedLoop<double> interleaved_loop_f64() { return interleaved_loop<double>(); }

}  // namespace tilewright::peers
