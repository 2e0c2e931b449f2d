// One vector of problems per block and a four-column register block, written as plain loops over arrays that
// the compiler keeps in vector registers. It is the code that a programmer who knows the layout would write
// in an afternoon.
#include "fixed_kernel.hpp"
#include "loop_interleaved.hpp"

namespace tilewright::peers {
namespace {

// Computes `Lanes` problems together: C columns j .. j + Columns of one row i.
template <class T, int Lanes, int Columns, bool Accumulate>
inline __attribute__((always_inline)) void row_block(const InterleavedCall& call, const T* a, const T* b,
                                                     T* c, std::int64_t i, std::int64_t j) {
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
void run(const InterleavedCall& call, const T* a, const T* b, T* c) {
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
InterleavedLoop<T> loop() {
#if defined(__AVX512F__)
  constexpr int lanes = 64 / sizeof(T);
#else
  constexpr int lanes = 32 / sizeof(T);
#endif
  return {&run<T, lanes, false>, &run<T, lanes, true>, lanes, TILEWRIGHT_TABLE_ISA};
}

}  // namespace

InterleavedLoop<float> interleaved_loop_f32() { return loop<float>(); }
InterleavedLoop<double> interleaved_loop_f64() { return loop<double>(); }

}  // namespace tilewright::peers
