// The keys that select the code for a small problem on the host: sizes, operations, leading dimensions, and
// for all else the classes that kernels are specialised for. Counts and strides are arguments.
#pragma once

#include <cstdint>

#include "core/problem.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"

namespace tilewright {

struct SmallKey {
  std::uint64_t shape = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;

  friend bool operator==(const SmallKey&, const SmallKey&) = default;

  std::uint64_t hash() const {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;
    std::uint64_t h = shape * odd;
    h = (h ^ h >> 32 ^ std::uint64_t(lda)) * odd;
    h = (h ^ std::uint64_t(ldb) << 20 ^ std::uint64_t(ldc) << 40 ^ std::uint64_t(ldc) >> 24) * odd;
    return h ^ h >> 29;
  }
};

// A product with one long side: the key of its bands and their kernels.
struct LongKey {
  std::uint64_t shape = 0;  // small_shape() without the long side
  std::int64_t m = 0, n = 0, lda = 0, ldb = 0, ldc = 0;
  int threads = 0;  // as requested

  friend bool operator==(const LongKey&, const LongKey&) = default;
};

// True if kernels serve the size; products with a size of 0 have no kernel.
inline bool is_small_size(std::int64_t size) {
  return std::uint64_t(size) - 1 < std::uint64_t(gemm_small_cpu_limit);
}

inline bool are_small_sizes(const GemmProblem& p) {
  return is_small_size(p.m) && is_small_size(p.n) && is_small_size(p.k);
}

// Packs all of a key but leading dimensions into one number; `strides` are stride_classes(). Always inlined:
// values stored in words and loaded in pairs would wait for their stores.
[[gnu::always_inline]] inline std::uint64_t small_shape(DType dtype, Op op_a, Op op_b, std::int64_t m,
                                                        std::int64_t n, std::int64_t k, Scalar alpha,
                                                        Scalar beta, Layout layout, Residency residency,
                                                        unsigned strides) {
  static_assert(gemm_small_cpu_limit < 128);
  return std::uint64_t(m) | std::uint64_t(n) << 7 | std::uint64_t(k) << 14 | std::uint64_t(dtype) << 21 |
         std::uint64_t(op_a) << 23 | std::uint64_t(op_b) << 25 | std::uint64_t(layout) << 27 |
         std::uint64_t(alpha) << 30 | std::uint64_t(beta) << 32 | std::uint64_t(residency) << 34 |
         std::uint64_t(strides) << 36;
}

// Returns the class of each operand of a strided batch, that of A in the lowest bits: one for all problems
// (0), packed (1) or neither (2).
inline unsigned stride_classes(const GemmProblem& p) {
  if (p.layout != Layout::strided) return 0;
  const auto class_of = [](std::int64_t stride, std::int64_t packed) {
    return stride == 0 ? 0u : stride == packed ? 1u : 2u;
  };
  return class_of(p.stride_a, p.lda * p.a_cols()) | class_of(p.stride_b, p.ldb * p.b_cols()) << 2 |
         class_of(p.stride_c, p.ldc * p.n) << 4;
}

[[gnu::always_inline]] inline SmallKey small_key(const GemmProblem& p) {
  constexpr int behind_strides = 42;
  return {small_shape(p.dtype, p.op_a, p.op_b, p.m, p.n, p.k, p.alpha, p.beta, p.layout, p.residency,
                      stride_classes(p)) |
              std::uint64_t(p.sums) << behind_strides,
          p.lda, p.ldb, p.ldc};
}

}  // namespace tilewright
