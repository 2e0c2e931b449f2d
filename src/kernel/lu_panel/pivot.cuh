// Operations of LU on element types: keys that compare pivots, and division by a pivot.
#pragma once

#include "kernel/common/element.cuh"
#include "kernel/lu_panel/device.cuh"

namespace tilewright {

template <class T>
__device__ __forceinline__ T one() {
  return T{1};
}

// |x| as LAPACK compares pivots (|re| + |im| of a complex number), as two words in the order of the values;
// NaN is the largest.
struct LuKey {
  unsigned high, low;
};
__device__ __forceinline__ LuKey lu_key(float x) { return {words_of(fabs(x)), 0}; }
__device__ __forceinline__ LuKey lu_key(double x) {
  const uint2 words = words_of(fabs(x));
  return {words.y, words.x};
}
template <class R>
__device__ __forceinline__ LuKey lu_key(const Complex<R>& x) {
  return lu_key(R(fabs(x.re) + fabs(x.im)));
}

template <class R>
__device__ __forceinline__ void multiply_subtract(R& sum, R a, R b) {
  multiply_add(sum, -a, b);
}
template <class R>
__device__ __forceinline__ void multiply_subtract(Complex<R>& sum, const Complex<R>& a, const Complex<R>& b) {
  multiply_add(sum, Complex<R>{-a.re, -a.im}, b);
}

// True if a column is multiplied by this number's reciprocal, as in LAPACK's getf2, which divides if the
// reciprocal overflows; also false if it is subnormal.
__device__ __forceinline__ bool has_reciprocal(float size) { return size >= 1.2e-38f && size <= 8.4e37f; }
__device__ __forceinline__ bool has_reciprocal(double size) { return size >= 2.3e-308 && size <= 4.4e307; }

template <class R>
__device__ __forceinline__ R lu_size(R x) {
  return fabs(x);
}
template <class R>
__device__ __forceinline__ R lu_size(const Complex<R>& x) {
  return fmax(fabs(x.re), fabs(x.im));
}

template <class R>
__device__ __forceinline__ bool is_finite(R x) {
  return x - x == 0;
}
template <class R>
__device__ __forceinline__ bool is_finite(const Complex<R>& x) {
  return is_finite(x.re) && is_finite(x.im);
}

// True for numbers that need division; for zero, infinities and NaN both operations agree.
template <class T>
__device__ __forceinline__ bool lu_must_divide(const T& x) {
  return !is_zero(x) && is_finite(x) && !has_reciprocal(lu_size(x));
}

// For numbers without a usable reciprocal the result is arbitrary.
__device__ __forceinline__ float lu_reciprocal(float x) { return 1 / x; }
__device__ __forceinline__ double lu_reciprocal(double x) {
  double y = rough_reciprocal(x);
  y = fma(y, fma(-x, y, 1.0), y);
  return fma(y, fma(-x, y, 1.0), y);
}
// Scales by the larger part, so that squares neither overflow nor vanish.
template <class R>
__device__ __forceinline__ Complex<R> lu_reciprocal(const Complex<R>& x) {
  const bool re_larger = fabs(x.re) >= fabs(x.im);
  const R large = re_larger ? x.re : x.im, small = re_larger ? x.im : x.re;
  const R ratio = small * lu_reciprocal(large), scaled = lu_reciprocal(R(large + small * ratio));
  return re_larger ? Complex<R>{scaled, -ratio * scaled} : Complex<R>{ratio * scaled, -scaled};
}

template <class R>
__device__ __forceinline__ R lu_product(R x, R y) {
  return x * y;
}
template <class R>
__device__ __forceinline__ Complex<R> lu_product(const Complex<R>& x, const Complex<R>& y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
template <class R>
__device__ __forceinline__ R lu_quotient(R x, R y) {
  return x / y;
}
// A power of two that scales numbers of this size: sums do not overflow, quotients keep their bits.
__device__ __forceinline__ float lu_moderation(float size) {
  return size > 1e37f ? 1.0f / (1 << 20) : size < 1e-30f ? static_cast<float>(1 << 30) : 1;
}
__device__ __forceinline__ double lu_moderation(double size) {
  return size > 1e307 ? 1.0 / (1 << 20) : size < 1e-290 ? static_cast<double>(1ll << 60) : 1;
}
// Returns x / y by Smith's method, both scaled first: x / y = (s x) / (t y) * (t / s), in an order that
// overflows only if the result does.
template <class R>
__device__ __forceinline__ Complex<R> lu_quotient(const Complex<R>& a, const Complex<R>& b) {
  const R s = lu_moderation(lu_size(a)), t = lu_moderation(lu_size(b));
  const Complex<R> x{a.re * s, a.im * s}, y{b.re * t, b.im * t};
  const bool re_larger = fabs(y.re) >= fabs(y.im);
  const R large = re_larger ? y.re : y.im, small = re_larger ? y.im : y.re;
  const R ratio = small / large, size = large + small * ratio;
  const Complex<R> found = re_larger ? Complex<R>{(x.re + x.im * ratio) / size, (x.im - x.re * ratio) / size}
                                     : Complex<R>{(x.re * ratio + x.im) / size, (x.im * ratio - x.re) / size};
  const R back = t / s;
  return {found.re * back, found.im * back};
}

// Divides a column by its pivot. For a zero pivot the whole column is zero and stays as it is.
template <class T>
class LuDivisor {
 public:
  __device__ LuDivisor(const T& pivot, const T& reciprocal)
      : pivot_(pivot),
        reciprocal_(reciprocal),
        is_zero_(is_zero(pivot)),
        by_product_(has_reciprocal(lu_size(pivot))) {}
  __device__ bool is_of_zero() const { return is_zero_; }
  __device__ T divide(const T& x) const {
    if (by_product_) return lu_product(x, reciprocal_);
    return is_zero_ ? x : lu_quotient(x, pivot_);
  }

 private:
  T pivot_, reciprocal_;
  bool is_zero_, by_product_;
};

}  // namespace tilewright
