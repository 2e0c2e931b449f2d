// Vector operations of the portable kernels: partial loads and stores that touch no other byte, and
// arithmetic on complex (re, im) pairs of lanes. Included once per instruction set, hence without an ordinary
// include guard.
#if defined(TILEWRIGHT_PORTABLE_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWRIGHT_PORTABLE_LANES
#undef TILEWRIGHT_PORTABLE_LANES
#else
#define TILEWRIGHT_PORTABLE_LANES
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// True if masked loads read nothing behind the mask. Elsewhere Highway's MaskedLoad reads the whole vector.
inline constexpr bool masked_memory = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3;
// AMD's take some 12 cycles each.
inline constexpr bool masked_stores_are_slow = HWY_TARGET == HWY_AVX2;
// The plain fallback keeps its vectors in memory: larger blocks would only be more code.
inline constexpr int vector_registers = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 32
                                        : HWY_TARGET == HWY_EMU128                       ? 8
                                                                                         : 16;

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::VFromD<D> load_first(D d, const T* from, std::int64_t count) {
  if constexpr (masked_memory) {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
  } else {
    HWY_ALIGN T lanes[hn::MaxLanes(D())] = {};
    for (std::int64_t i = 0; i < count; ++i) lanes[i] = from[i];
    return hn::Load(d, lanes);
  }
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::VFromD<D> v, D d, T* to, std::int64_t count) {
  if constexpr (masked_memory) {
    hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
  } else {
    HWY_ALIGN T lanes[hn::MaxLanes(D())];
    hn::Store(v, d, lanes);
    for (std::int64_t i = 0; i < count; ++i) to[i] = lanes[i];
  }
}

// Stores the first `count` lanes of vectors, `ld` apart; count is less than a vector's lanes.
#if HWY_TARGET == HWY_AVX2
// By parts. Each branch is taken once for all vectors.
template <int N, class D>
HWY_INLINE void store_firsts(const hn::VFromD<D> (&v)[N], D, double* to, std::int64_t ld,
                             std::int64_t count) {
  if (count == 1) {
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) _mm_store_sd(to + j * ld, _mm256_castpd256_pd128(v[j].raw));
    return;
  }
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) _mm_storeu_pd(to + j * ld, _mm256_castpd256_pd128(v[j].raw));
  if (count == 2) return;
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) _mm_store_sd(to + j * ld + 2, _mm256_extractf128_pd(v[j].raw, 1));
}
template <int N, class D>
HWY_INLINE void store_firsts(const hn::VFromD<D> (&v)[N], D, float* to, std::int64_t ld, std::int64_t count) {
  __m128 part[N];
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) part[j] = _mm256_castps256_ps128(v[j].raw);
  if ((count & 4) != 0) {
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      _mm_storeu_ps(to + j * ld, part[j]);
      part[j] = _mm256_extractf128_ps(v[j].raw, 1);
    }
    to += 4;
  }
  if ((count & 2) != 0) {
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
      _mm_storel_pi(reinterpret_cast<__m64*>(to + j * ld), part[j]);
      part[j] = _mm_movehl_ps(part[j], part[j]);
    }
    to += 2;
  }
  if ((count & 1) != 0) {
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) _mm_store_ss(to + j * ld, part[j]);
  }
}
#else
template <int N, class D, class T = hn::TFromD<D>>
HWY_INLINE void store_firsts(const hn::VFromD<D> (&v)[N], D d, T* to, std::int64_t ld, std::int64_t count) {
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j) store_first(v[j], d, to + j * ld, count);
}
#endif

// Returns v, which is used `Uses` times, hiding its origin from GCC, which prefers up to three loads to a
// register; these cost a third of the speed with data in L2 or across cache lines.
template <int Uses, class V>
HWY_INLINE V in_register(V v) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_TARGET == HWY_AVX3
  if constexpr (Uses > 1) asm("" : "+v"(v.raw));
#elif HWY_COMPILER_GCC_ACTUAL && HWY_TARGET == HWY_AVX2
  if constexpr (Uses > 1) asm("" : "+x"(v.raw));
#endif
  return v;
}

// x + i y, and x - i y.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V plus_i(D d, V x, V y) {
  const V swapped = hn::Reverse2(d, y);
  return hn::OddEven(hn::Add(x, swapped), hn::Sub(x, swapped));
}
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V minus_i(D d, V x, V y) {
  const V swapped = hn::Reverse2(d, y);
  return hn::OddEven(hn::Sub(x, swapped), hn::Add(x, swapped));
}

// The product from two real sums: x of one factor times the other's real, y times its imaginary parts.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V combine(D d, V x, V y, bool minus, bool conjugate) {
  const V z = minus ? minus_i(d, x, y) : plus_i(d, x, y);
  return conjugate ? hn::OddEven(hn::Neg(z), z) : z;
}

// Returns x times a scalar whose real and imaginary part fill one vector each.
template <bool Complex, class D, class V = hn::VFromD<D>>
HWY_INLINE V scaled(D d, V x, V re, V im) {
  if constexpr (Complex)
    return plus_i(d, hn::Mul(x, re), hn::Mul(x, im));
  else
    return hn::Mul(x, re);
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();
#endif
