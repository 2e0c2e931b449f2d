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

}  // namespace tilewright
