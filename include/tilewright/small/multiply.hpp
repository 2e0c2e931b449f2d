// One product of small.hpp below its interface: the definition in plain loops, the copy that turns op(A) into
// A, and the way from a config to the kernel that carries it out. The choice of the config is config.hpp's.
#pragma once

#include <cstddef>
#include <memory>

#include "tilewright/small/flat.hpp"
#include "tilewright/small/kernel.hpp"
#include "tilewright/types.hpp"

namespace tilewright::small {

template <class T>
concept Element = std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class T>
constexpr T conjugate(T x) {
  if constexpr (Number<T>::parts == 2)
    return T(x.real(), -x.imag());
  else
    return x;
}

// Element (i, j) of op(A), A stored with ld.
template <Op O, class T>
constexpr T element(const T* a, std::int64_t ld, std::int64_t i, std::int64_t j) {
  if constexpr (O == Op::none)
    return a[i + j * ld];
  else if constexpr (O == Op::trans)
    return a[j + i * ld];
  else
    return conjugate(a[j + i * ld]);
}

// (a + bi)(c + di) = (ac - bd) + (ad + bc)i, as the kernels form it: infinities and NaN are not treated
// apart.
template <class T>
constexpr T product(T x, T y) {
  if constexpr (Number<T>::parts == 2)
    return T(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
  else
    return x * y;
}

// C = beta C; beta == 1 leaves every bit as it is.
template <std::int64_t M, std::int64_t N, class T>
TILEWRIGHT_INLINE constexpr void scale_only(T beta, T* c, std::int64_t ldc) {
  if (beta == T(1)) return;
  for (std::int64_t j = 0; j < N; ++j)
    for (std::int64_t i = 0; i < M; ++i) c[i + j * ldc] = beta == T(0) ? T(0) : product(beta, c[i + j * ldc]);
}

// The definition; what constant evaluation runs and tests compare with.
template <std::int64_t M, std::int64_t N, std::int64_t K, Op OpA, Op OpB, class T>
constexpr void multiply_plainly(T alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta,
                                T* c, std::int64_t ldc) {
  if (alpha == T(0) || K == 0) return scale_only<M, N, T>(beta, c, ldc);
  for (std::int64_t j = 0; j < N; ++j) {
    for (std::int64_t i = 0; i < M; ++i) {
      T sum{};
      for (std::int64_t k = 0; k < K; ++k)
        sum += product(element<OpA>(a, lda, i, k), element<OpB>(b, ldb, k, j));
      T& target = c[i + j * ldc];
      if (alpha != T(1)) sum = product(alpha, sum);
      target = beta == T(0) ? sum : sum + (beta == T(1) ? target : product(beta, target));
    }
  }
}

// C = alpha A op(B) + beta C by a kernel of registers blocks.
template <Config C, int M, int N, int K, Op OpB, class T>
TILEWRIGHT_INLINE void multiply_blocks(T alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
                                       T beta, T* c, std::int64_t ldc) {
  using R = typename Number<T>::Real;
  constexpr int parts = Number<T>::parts;
  Call<T> call;
  call.a = reinterpret_cast<const R*>(a);
  call.a_step = lda * parts;
  call.b = reinterpret_cast<const R*>(b);
  call.b_step = (OpB == Op::none ? 1 : ldb) * parts;
  call.b_column = (OpB == Op::none ? ldb : 1) * parts;
  call.c = reinterpret_cast<R*>(c);
  call.c_column = ldc * parts;
  call.alpha = alpha;
  call.beta = beta;
  Kernel<T, M, N, K, C, OpB == Op::conj_trans>::run(call);
}

// Room for a matrix: on the stack, of which a thread may have little, only where it is small.
template <class T, std::size_t Count, bool OnStack = (Count * sizeof(T) <= 4096)>
class Copy {
 public:
  TILEWRIGHT_INLINE T* data() { return reinterpret_cast<T*>(bytes_); }

 private:
  alignas(64) unsigned char bytes_[Count * sizeof(T)];
};
template <class T, std::size_t Count>
class Copy<T, Count, false> {
 public:
  T* data() { return data_.get(); }

 private:
  std::unique_ptr<T[]> data_{new T[Count]};
};

// C = alpha op(A) op(B) + beta C for alpha != 0 and K > 0, as config C says.
template <Config C, int M, int N, int K, Op OpA, Op OpB, class T>
TILEWRIGHT_INLINE void multiply_as(T alpha, const T* __restrict a, std::int64_t lda, const T* __restrict b,
                                   std::int64_t ldb, T beta, T* __restrict c, std::int64_t ldc) {
  if constexpr (C.flat) {
    static_assert(M == N && M == K && OpA == Op::none && OpB == Op::none && Number<T>::parts == 1);
    if (lda == M && ldb == K && ldc == M)
      Flat<T, M, C.vector_bytes / static_cast<int>(sizeof(T))>::run(alpha, a, b, beta, c);
    else
      multiply_blocks<choose_blocks(shape_of<T, M, N, K>(), native_isa), M, N, K, OpB, T>(alpha, a, lda, b,
                                                                                          ldb, beta, c, ldc);
  } else if constexpr (OpA == Op::none) {
    multiply_blocks<C, M, N, K, OpB, T>(alpha, a, lda, b, ldb, beta, c, ldc);
  } else {
    Copy<T, std::size_t(M) * std::size_t(K)> copy;  // op(A)
    T* const place = copy.data();
    for (int k = 0; k < K; ++k)
      for (int i = 0; i < M; ++i) place[i + k * M] = element<OpA>(a, lda, i, k);
    multiply_blocks<C, M, N, K, OpB, T>(alpha, place, M, b, ldb, beta, c, ldc);
  }
}

template <int M, int N, int K, Op OpA, Op OpB, class T>
inline constexpr Config chosen_config = OpA == Op::none&& OpB == Op::none
                                            ? choose_config(shape_of<T, M, N, K>(), native_isa)
                                            : choose_blocks(shape_of<T, M, N, K>(), native_isa);

}  // namespace tilewright::small
