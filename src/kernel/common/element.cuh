// Element types of device code: complex numbers (layout of std::complex), multiply-add, and packs that one
// instruction moves.
#pragma once

namespace tilewright {

template <class R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
};

template <class T>
__device__ __forceinline__ T zero() {
  return T{};
}
__device__ __forceinline__ void multiply_add(float& sum, float a, float b) { sum = fmaf(a, b, sum); }
__device__ __forceinline__ void multiply_add(double& sum, double a, double b) { sum = fma(a, b, sum); }
template <class R>
__device__ __forceinline__ void multiply_add(Complex<R>& sum, Complex<R> a, Complex<R> b) {
  multiply_add(sum.re, a.re, b.re);
  multiply_add(sum.re, -a.im, b.im);
  multiply_add(sum.im, a.re, b.im);
  multiply_add(sum.im, a.im, b.re);
}
template <class R>
__device__ __forceinline__ bool is_zero(R value) {
  return value == 0;
}
template <class R>
__device__ __forceinline__ bool is_zero(Complex<R> value) {
  return value.re == 0 && value.im == 0;
}
template <bool Conjugate, class T>
__device__ __forceinline__ T conjugate_if(T value) {
  return value;
}
template <bool Conjugate, class R>
__device__ __forceinline__ Complex<R> conjugate_if(Complex<R> value) {
  if constexpr (Conjugate) value.im = -value.im;
  return value;
}

template <class T, int Count>
struct alignas(Count * sizeof(T)) Pack {
  T item[Count];
};

}  // namespace tilewright
