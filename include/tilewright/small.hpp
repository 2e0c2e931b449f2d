/// @file
/// C = alpha * op(A) * op(B) + beta * C for sizes known at compile time: gemm<M, N, K> on pointers and
/// Batch<T, M, N>. Header-only, inlined into the caller and built with the caller's flags (use -O2 and
/// -march=native); for sizes known only at run time there is gemm.hpp. alpha and beta may have any values;
/// constants are folded. beta == 0 does not read C; alpha == 0 or K == 0 does not read A and B, and with beta
/// == 1 leaves C bit for bit as it is. Complex products are (ac - bd) + (ad + bc)i, without the special
/// treatment of infinities in std::complex.
/// @par Shapes A is M x K as stored for Op::none and K x M otherwise, B likewise K x N or N x K, C M x N; all
///   column-major. Leading dimensions count elements.
/// @par Memory The caller owns all memory. C must not overlap A or B.
/// @par Threads Any number of threads may call at once, on different C. A call stays on its thread.
/// @par Errors Wrong sizes do not compile; leading dimensions that are too small fail an assert(). Nothing is
///   thrown.
/// @see Masliah et al. 2016, section 4.1, the integral-constant interface
//
// The kernels use the vector extension of g++ and clang++ rather than Highway: it needs nothing installed,
// its widths can be chosen per size (a 3 x 3 matrix needs narrow vectors, a 5 x 5 one half-filled 512-bit
// ones), constants fold through it, and Highway 1.0.3 fails under -march=native on AVX-512 machines without a
// macro.
#pragma once

#include <cassert>
#include <cstdint>
#include <type_traits>

#include "tilewright/small/batch.hpp"
#include "tilewright/small/multiply.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

/// C = alpha * op(A) * op(B) + beta * C.
/// @see BLAS xGEMM
template <std::int64_t M, std::int64_t N, std::int64_t K, Op OpA = Op::none, Op OpB = Op::none,
          small::Element T>
TILEWRIGHT_INLINE constexpr void gemm(std::type_identity_t<T> alpha, const std::type_identity_t<T>* a,
                                      std::int64_t lda, const std::type_identity_t<T>* b, std::int64_t ldb,
                                      std::type_identity_t<T> beta, T* c, std::int64_t ldc) {
  static_assert(M >= 0 && N >= 0 && K >= 0, "sizes are not negative");
  static_assert(M <= 4096 && N <= 4096 && K <= 4096, "for large matrices use gemm.hpp");
  assert(lda >= (OpA == Op::none ? M : K) && ldb >= (OpB == Op::none ? K : N) && ldc >= M);
  if (std::is_constant_evaluated()) {
    small::multiply_plainly<M, N, K, OpA, OpB, T>(alpha, a, lda, b, ldb, beta, c, ldc);
  } else if constexpr (M > 0 && N > 0) {
    if constexpr (K == 0) {
      small::scale_only<M, N>(beta, c, ldc);
    } else if (alpha == T(0)) {
      small::scale_only<M, N>(beta, c, ldc);
    } else {
      small::multiply_as<small::chosen_config<M, N, K, OpA, OpB, T>, M, N, K, OpA, OpB, T>(alpha, a, lda, b,
                                                                                           ldb, beta, c, ldc);
    }
  }
}

/// The same for packed matrices: every leading dimension is the number of rows.
template <std::int64_t M, std::int64_t N, std::int64_t K, Op OpA = Op::none, Op OpB = Op::none,
          small::Element T>
TILEWRIGHT_INLINE constexpr void gemm(std::type_identity_t<T> alpha, const std::type_identity_t<T>* a,
                                      const std::type_identity_t<T>* b, std::type_identity_t<T> beta, T* c) {
  gemm<M, N, K, OpA, OpB>(alpha, a, OpA == Op::none ? M : K, b, OpB == Op::none ? K : N, beta, c, M);
}

/// The same with the sizes as values, gemm(std::integral_constant<int, 4>{}, ...), and the operations as
/// gemm<Op::trans, Op::none>(...).
template <Op OpA = Op::none, Op OpB = Op::none, class At, At M, class J, J N, class L, L K, small::Element T>
TILEWRIGHT_INLINE constexpr void gemm(std::integral_constant<At, M>, std::integral_constant<J, N>,
                                      std::integral_constant<L, K>, std::type_identity_t<T> alpha,
                                      const std::type_identity_t<T>* a, std::int64_t lda,
                                      const std::type_identity_t<T>* b, std::int64_t ldb,
                                      std::type_identity_t<T> beta, T* c, std::int64_t ldc) {
  gemm<M, N, K, OpA, OpB>(alpha, a, lda, b, ldb, beta, c, ldc);
}
template <Op OpA = Op::none, Op OpB = Op::none, class At, At M, class J, J N, class L, L K, small::Element T>
TILEWRIGHT_INLINE constexpr void gemm(std::integral_constant<At, M>, std::integral_constant<J, N>,
                                      std::integral_constant<L, K>, std::type_identity_t<T> alpha,
                                      const std::type_identity_t<T>* a, const std::type_identity_t<T>* b,
                                      std::type_identity_t<T> beta, T* c) {
  gemm<M, N, K, OpA, OpB>(alpha, a, b, beta, c);
}

}  // namespace tilewright
