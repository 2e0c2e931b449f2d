// Arithmetic of factorizations for real and complex elements. Complex quotients do not overflow where the
// result does not.
#pragma once

#include "kernel/common/element.cuh"
#include "kernel/factor_gpu/device.cuh"

namespace tilewright {

template <class T>
struct FactorGpuReal {
  using Type = T;
};
template <class R>
struct FactorGpuReal<Complex<R>> {
  using Type = R;
};

template <class R>
__device__ __forceinline__ R quotient(R x, R y) {
  return x / y;
}
template <class R>
__device__ __forceinline__ Complex<R> quotient(Complex<R> x, Complex<R> y) {
  if (magnitude_of(y.re) >= magnitude_of(y.im)) {
    const R ratio = y.im / y.re, whole = y.re + y.im * ratio;
    return {(x.re + x.im * ratio) / whole, (x.im - x.re * ratio) / whole};
  }
  const R ratio = y.re / y.im, whole = y.im + y.re * ratio;
  return {(x.re * ratio + x.im) / whole, (x.im * ratio - x.re) / whole};
}
template <class R>
__device__ __forceinline__ R product_of(R x, R y) {
  return x * y;
}
template <class R>
__device__ __forceinline__ Complex<R> product_of(Complex<R> x, Complex<R> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
template <class R>
__device__ __forceinline__ R negative(R x) {
  return -x;
}
template <class R>
__device__ __forceinline__ Complex<R> negative(Complex<R> x) {
  return {-x.re, -x.im};
}
template <class R>
__device__ __forceinline__ R times_real(R x, R factor) {
  return x * factor;
}
template <class R>
__device__ __forceinline__ Complex<R> times_real(Complex<R> x, R factor) {
  return {x.re * factor, x.im * factor};
}
template <class R>
__device__ __forceinline__ R real_part(R x) {
  return x;
}
template <class R>
__device__ __forceinline__ R real_part(Complex<R> x) {
  return x.re;
}
template <class R>
__device__ __forceinline__ R imaginary_part(R) {
  return 0;
}
template <class R>
__device__ __forceinline__ R imaginary_part(Complex<R> x) {
  return x.im;
}
template <class T>
__device__ __forceinline__ T from_real(typename FactorGpuReal<T>::Type x) {
  if constexpr (sizeof(T) == sizeof(x))
    return x;
  else
    return {x, 0};
}
// The magnitude by which pivots are chosen, |re| + |im|.
template <class R>
__device__ __forceinline__ auto pivot_bits(R x) {
  return magnitude_bits(x);
}
template <class R>
__device__ __forceinline__ auto pivot_bits(Complex<R> x) {
  return magnitude_bits(magnitude_of(x.re) + magnitude_of(x.im));
}

// The inverse of a pivot, which rows are multiplied by. Those of pivots whose inverse may overflow are
// enlarged first.
template <class T>
struct FactorGpuInverse {
  using R = typename FactorGpuReal<T>::Type;
  R enlarged;
  T inverse;

  __device__ __forceinline__ explicit FactorGpuInverse(T pivot) {
    constexpr R least = sizeof(R) == 4 ? R(0x1p-124f) : R(0x1p-1020),
                large = sizeof(R) == 4 ? R(0x1p60f) : R(0x1p120);
    enlarged =
        magnitude_of(real_part(pivot)) < least && magnitude_of(imaginary_part(pivot)) < least ? large : R(1);
    inverse = quotient(from_real<T>(R(1)), times_real(pivot, enlarged));
  }
  __device__ __forceinline__ T times(T x) const { return product_of(times_real(x, enlarged), inverse); }
};

// The root of d by one step from d * inverse, where `inverse` is that of the root, nearly.
template <class R>
__device__ __forceinline__ R root_of(R d, R inverse) {
  const R rough = d * inverse;
  R rest = d, root = rough;
  multiply_add(rest, -rough, rough);
  multiply_add(root, R(0.5) * inverse, rest);
  return root;
}

}  // namespace tilewright
