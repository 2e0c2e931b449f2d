// What LU asks of an element's type: keys by which pivots are compared, and division by a pivot.
#pragma once

#include "kernel/common/element.cuh"
#include "kernel/lu_panel/device.cuh"

namespace tilewright {

// |x| as LAPACK compares pivots, |re| + |im| of a complex number, as two words whose order is that of the
// values; NaN goes before all.
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

__device__ __forceinline__ LuKey warp_most(const LuKey& key) {
  const unsigned high = warp_most_of(key.high);
  return {high, warp_most_of(key.high == high ? key.low : 0)};
}

template <class R>
__device__ __forceinline__ void multiply_subtract(R& sum, R a, R b) {
  multiply_add(sum, -a, b);
}
template <class R>
__device__ __forceinline__ void multiply_subtract(Complex<R>& sum, const Complex<R>& a, const Complex<R>& b) {
  multiply_add(sum, Complex<R>{-a.re, -a.im}, b);
}

// Division of a column by its pivot: by the reciprocal, as LAPACK's getf2, unless that overflows. By zero
// nothing is divided: then the whole column is zero.
template <class R>
class LuDivisor {
 public:
  __device__ explicit LuDivisor(R pivot) : pivot_(pivot), reciprocal_(R(1) / pivot) {
    is_zero_ = pivot == R(0);
    is_small_ = fabs(pivot) < (sizeof(R) == 8 ? R(2.2250738585072014e-308) : R(1.17549435e-38f));
  }
  __device__ R divide(R x) const {
    if (is_zero_) return x;
    return is_small_ ? x / pivot_ : x * reciprocal_;
  }

 private:
  R pivot_, reciprocal_;
  bool is_zero_, is_small_;
};
template <class R>
class LuDivisor<Complex<R>> {
 public:
  // Scaled by the larger part, so that squares neither overflow nor vanish.
  __device__ explicit LuDivisor(const Complex<R>& pivot) {
    is_zero_ = is_zero(pivot);
    const bool re_larger = fabs(pivot.re) >= fabs(pivot.im);
    const R large = re_larger ? pivot.re : pivot.im, small = re_larger ? pivot.im : pivot.re;
    ratio_ = small / large;
    size_ = large + small * ratio_;
    re_larger_ = re_larger;
  }
  __device__ Complex<R> divide(const Complex<R>& x) const {
    if (is_zero_) return x;
    return re_larger_ ? Complex<R>{(x.re + x.im * ratio_) / size_, (x.im - x.re * ratio_) / size_}
                      : Complex<R>{(x.re * ratio_ + x.im) / size_, (x.im * ratio_ - x.re) / size_};
  }

 private:
  R ratio_, size_;
  bool re_larger_, is_zero_;
};

}  // namespace tilewright
