// Vectors of a fixed number of lanes for small.hpp, on the vector extension that g++ and clang++ share:
// types, whole and partial loads and stores, splats. Arithmetic is the language's own operators, so
// contraction into FMA, instruction set and encoding follow the flags of the translation unit. It knows
// nothing of matrices.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tilewright/small/config.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#endif

#define TILEWRIGHT_INLINE inline __attribute__((always_inline))

namespace tilewright::small {

// x, of which the compiler knows nothing any more: what it computes from it, it cannot have computed before.
template <class X>
TILEWRIGHT_INLINE X opaque(X x) {
  __asm__("" : "+r"(x));
  return x;
}

template <int Count>
using Indices = std::make_integer_sequence<int, Count>;
template <int... At>
using IndexList = std::integer_sequence<int, At...>;

// A vector, or the scalar itself for one lane. `Loose` is the same vector at any element's address.
template <class R, int Lanes>
struct VectorType {
  typedef R type __attribute__((vector_size(sizeof(R) * Lanes)));
  typedef R Loose __attribute__((vector_size(sizeof(R) * Lanes), aligned(alignof(R)), may_alias));
};
template <class R>
struct VectorType<R, 1> {
  using type = R;
  using Loose = R;
};
template <class R, int Lanes>
using Vector = typename VectorType<R, Lanes>::type;

#if defined(__AVX512F__) && defined(__AVX512VL__)
template <class R, int Lanes, int Valid>
TILEWRIGHT_INLINE Vector<R, Lanes> load_masked(const R* p) {
  constexpr unsigned mask = (1u << Valid) - 1u;
  if constexpr (std::is_same_v<R, double> && Lanes == 8)
    return (Vector<R, Lanes>)_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), p);
  else if constexpr (std::is_same_v<R, double>)
    return (Vector<R, Lanes>)_mm256_maskz_loadu_pd(static_cast<__mmask8>(mask), p);
  else if constexpr (Lanes == 16)
    return (Vector<R, Lanes>)_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), p);
  else if constexpr (Lanes == 8)
    return (Vector<R, Lanes>)_mm256_maskz_loadu_ps(static_cast<__mmask8>(mask), p);
  else
    return (Vector<R, Lanes>)_mm_maskz_loadu_ps(static_cast<__mmask8>(mask), p);
}
template <class R, int Lanes, int Valid>
TILEWRIGHT_INLINE void store_masked(R* p, Vector<R, Lanes> v) {
  constexpr unsigned mask = (1u << Valid) - 1u;
  if constexpr (std::is_same_v<R, double> && Lanes == 8)
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>(mask), (__m512d)v);
  else if constexpr (std::is_same_v<R, double>)
    _mm256_mask_storeu_pd(p, static_cast<__mmask8>(mask), (__m256d)v);
  else if constexpr (Lanes == 16)
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>(mask), (__m512)v);
  else if constexpr (Lanes == 8)
    _mm256_mask_storeu_ps(p, static_cast<__mmask8>(mask), (__m256)v);
  else
    _mm_mask_storeu_ps(p, static_cast<__mmask8>(mask), (__m128)v);
}
#endif

// The first Valid of Lanes elements; the other lanes are zero.
template <class R, int Lanes, int Valid = Lanes>
TILEWRIGHT_INLINE Vector<R, Lanes> load(const R* p) {
  if constexpr (Lanes == Valid)
    return *reinterpret_cast<const typename VectorType<R, Lanes>::Loose*>(p);
  else
    return load_masked<R, Lanes, Valid>(p);
}
template <class R, int Lanes, int Valid = Lanes>
TILEWRIGHT_INLINE void store(R* p, Vector<R, Lanes> v) {
  if constexpr (Lanes == Valid)
    *reinterpret_cast<typename VectorType<R, Lanes>::Loose*>(p) = v;
  else
    store_masked<R, Lanes, Valid>(p, v);
}

template <class R, int... At>
TILEWRIGHT_INLINE Vector<R, sizeof...(At)> splat_lanes(R s, IndexList<At...>) {
  return Vector<R, sizeof...(At)>{(static_cast<void>(At), s)...};
}
// s in every lane. Pinned: the whole vector is held in a register, else g++ makes the narrower copies that
// sub() takes of it one by one, from a scalar and on the port that the multiplications need.
template <class R, int Lanes, bool Pinned = false>
TILEWRIGHT_INLINE Vector<R, Lanes> splat(R s) {
  if constexpr (Lanes == 1) {
    return s;
  } else {
    Vector<R, Lanes> v = splat_lanes<R>(s, Indices<Lanes>{});
#if defined(__AVX512F__)
    if constexpr (Pinned && sizeof(v) >= 16) __asm__("" : "+v"(v));
#elif defined(__x86_64__)
    if constexpr (Pinned && sizeof(v) >= 16) __asm__("" : "+x"(v));
#endif
    return v;
  }
}

// Lanes Lane(0), Lane(1), ... of v, where Lane is a constexpr function object of the position.
template <class Lane, class V, int... At>
TILEWRIGHT_INLINE auto permute_lanes(V v, IndexList<At...>) {
  return __builtin_shufflevector(v, v, Lane{}(At)...);
}
template <class Lane, int Lanes, class V>
TILEWRIGHT_INLINE auto permute(V v) {
  return permute_lanes<Lane>(v, Indices<Lanes>{});
}

template <int First>
struct FromLane {
  constexpr int operator()(int lane) const { return First + lane; }
};
struct SwappedPairs {
  constexpr int operator()(int lane) const { return lane ^ 1; }
};

// Lanes First .. First + Lanes - 1 of a vector of From lanes.
template <class R, int From, int First, int Lanes>
TILEWRIGHT_INLINE Vector<R, Lanes> sub(Vector<R, From> v) {
  if constexpr (From == Lanes)
    return v;
  else if constexpr (Lanes == 1)
    return v[First];
  else
    return permute<FromLane<First>, Lanes>(v);
}

template <int Group>
struct RepeatedLanes {
  constexpr int operator()(int lane) const { return lane % Group; }
};
// The Group elements at p over and over. Loads repeat 8, 16 and 32 bytes for nothing, which compilers do not
// find.
template <class R, int Group, int Lanes>
TILEWRIGHT_INLINE Vector<R, Lanes> repeat(const R* p) {
  [[maybe_unused]] constexpr std::size_t group = Group * sizeof(R), whole = Lanes * sizeof(R);
  if constexpr (group == 8 && sizeof(R) == 4) {
    typedef double Loose __attribute__((aligned(4), may_alias));
    return (Vector<R, Lanes>)splat<double, Lanes / 2>(*reinterpret_cast<const Loose*>(p));
  }
#if defined(__AVX512F__)
  else if constexpr (group == 16 && whole == 64)
    return (Vector<R, Lanes>)_mm512_broadcast_f32x4((__m128)load<R, Group>(p));
  else if constexpr (group == 32 && whole == 64)
    return (Vector<R, Lanes>)_mm512_broadcast_f64x4((__m256d)load<R, Group>(p));
#endif
#if defined(__AVX__)
  else if constexpr (group == 16 && whole == 32)
    return (Vector<R, Lanes>)_mm256_broadcast_ps(reinterpret_cast<const __m128*>(p));
#endif
  else
    return permute<RepeatedLanes<Group>, Lanes>(load<R, Group>(p));
}

}  // namespace tilewright::small
