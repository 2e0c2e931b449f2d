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
