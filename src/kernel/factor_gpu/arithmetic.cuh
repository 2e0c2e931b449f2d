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
__device__ __forceinline__ R difference(R x, R y) {
  return x - y;
}
template <class R>
__device__ __forceinline__ Complex<R> difference(Complex<R> x, Complex<R> y) {
  return {x.re - y.re, x.im - y.im};
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

// A product of elements as product * step^count, whose parts neither overflow nor underflow on the way.
template <class T>
struct FactorGpuProduct {
  using R = typename FactorGpuReal<T>::Type;
  T product;
  int count = 0;

  __device__ __forceinline__ explicit FactorGpuProduct(T first) : product(first) {}
  // Elements lie within two steps of [1 / root, root), products of two that lie in it within one.
  __device__ __forceinline__ void multiply(T x) {
    if (rescale(x)) rescale(x);
    product = product_of(product, x);
    rescale(product);
  }
  // Three steps leave the range from any product near 1.
  __device__ __forceinline__ T value() const {
    T value = product;
    const int steps = count < 0 ? -count : count;
    for (int passed = 0; passed < 3 && passed < steps; ++passed)
      value = times_real(value, count < 0 ? smaller : larger);
    return value;
  }

 private:
  static constexpr R larger = R(sizeof(R) == 4 ? 0x1p64 : 0x1p512), smaller = R(1) / larger,
                     root = R(sizeof(R) == 4 ? 0x1p32 : 0x1p256);

  // Brings x nearer to 1 by a step if it lies outside [1 / root, root); returns true if it did.
  __device__ __forceinline__ bool rescale(T& x) {
    const R re = magnitude_of(real_part(x)), im = magnitude_of(imaginary_part(x)), size = re < im ? im : re;
    if (size >= root)
      x = times_real(x, smaller), ++count;
    else if (size < R(1) / root)
      x = times_real(x, larger), --count;
    else
      return false;
    return true;
  }
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
