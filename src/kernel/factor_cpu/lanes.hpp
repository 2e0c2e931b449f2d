// Arithmetic on vectors whose lanes are elements of different problems, real numbers or complex (re, im)
// pairs. Included once per instruction set, hence without an ordinary include guard.
#if defined(TILEWRIGHT_FACTOR_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWRIGHT_FACTOR_LANES
#undef TILEWRIGHT_FACTOR_LANES
#else
#define TILEWRIGHT_FACTOR_LANES
#endif

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/dispatch.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class R, bool IsComplex>
struct Lanes {
  using Real = R;
  static constexpr bool is_complex = IsComplex;
  static constexpr int parts = IsComplex ? 2 : 1;
  // Without vector instructions one problem is a vector, and blocks are single elements: the compiler takes
  // several times as long for emulated vectors as for all others.
  static constexpr bool is_emulated = HWY_TARGET == HWY_EMU128;
  using D = hn::CappedTag<Real, is_emulated ? std::size_t(parts) : 64 / sizeof(Real)>;
  using V = hn::VFromD<D>;
  // Rows and columns of a block of C in registers, beside the operands of one step.
  static constexpr int block = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 4
                               : is_emulated                                    ? 1
                               : IsComplex                                      ? 2
                                                                                : 3;

  // The factors of products. A Left costs one more operation for complex numbers; so does a Right.
  struct Left {
    V re, im;  // im: (-im, im), of complex numbers only
  };
  struct Right {
    V value, swapped;  // swapped: (im, re), of complex numbers only
  };

  static std::int64_t reals() { return std::int64_t(hn::Lanes(D())); }
  static HWY_INLINE V load(const Real* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE void store(V v, Real* to) { hn::StoreU(v, D(), to); }
  static HWY_INLINE V zero() { return hn::Zero(D()); }
  static HWY_INLINE V constant(double x) { return hn::Set(D(), Real(x)); }
  static HWY_INLINE V one() {
    if constexpr (IsComplex)
      return hn::OddEven(zero(), constant(1));
    else
      return constant(1);
  }
  static HWY_INLINE V conj(V v) {
    if constexpr (IsComplex)
      return hn::OddEven(hn::Neg(v), v);
    else
      return v;
  }
  static HWY_INLINE Left left(V v) {
    if constexpr (IsComplex) {
      const V im = hn::DupOdd(v);
      return {hn::DupEven(v), hn::OddEven(im, hn::Neg(im))};
    } else {
      return {v, v};
    }
  }
  static HWY_INLINE Right right(V v) {
    if constexpr (IsComplex)
      return {v, hn::Reverse2(D(), v)};
    else
      return {v, v};
  }
  static HWY_INLINE V multiply(const Left& x, const Right& y) {
    const V product = hn::Mul(x.re, y.value);
    if constexpr (IsComplex)
      return hn::MulAdd(x.im, y.swapped, product);
    else
      return product;
  }
  static HWY_INLINE V multiply(V x, V y) { return multiply(left(x), right(y)); }
  static HWY_INLINE V subtract_product(V c, const Left& x, const Right& y) {
    c = hn::NegMulAdd(x.re, y.value, c);
    if constexpr (IsComplex) c = hn::NegMulAdd(x.im, y.swapped, c);
    return c;
  }
  // The size by which pivots are compared, |re| + |im| as LAPACK's IxAMAX, in all lanes of a pair.
  static HWY_INLINE V size(V v) {
    const V sizes = hn::Abs(v);
    if constexpr (IsComplex)
      return hn::Add(sizes, hn::Reverse2(D(), sizes));
    else
      return sizes;
  }
  // x / z without overflow of |z|^2.
  static HWY_INLINE V divide(V x, V z) {
    if constexpr (IsComplex) {
      const V sizes = hn::Abs(z), scale = hn::Max(sizes, hn::Reverse2(D(), sizes));
      const V y = hn::Div(z, scale), squares = hn::Mul(y, y);
      const V norm = hn::Add(squares, hn::Reverse2(D(), squares));
      return hn::Div(hn::Div(multiply(x, conj(y)), norm), scale);
    } else {
      return hn::Div(x, z);
    }
  }
  // True if the inverse of a nonzero z of this size may overflow in some lane.
  static HWY_INLINE bool has_tiny(V sizes) {
    const V least = constant(double(std::numeric_limits<Real>::min()));
    return !hn::AllFalse(D(), hn::And(hn::Lt(sizes, least), hn::Gt(sizes, zero())));
  }
};

// The lanes of an element type.
template <class T>
using LanesOf = Lanes<decltype(std::abs(T())), tilewright::is_complex(dtype_of<T>)>;

// A matrix of vectors. Strides may be negative or exchanged: so a triangle becomes lower, and a side the left
// one.
template <class Real>
struct LaneMatrix {
  Real* data;
  std::int64_t row, col;  // distances in reals

  HWY_INLINE Real* at(std::int64_t i, std::int64_t j) const { return data + i * row + j * col; }
  LaneMatrix from(std::int64_t i, std::int64_t j) const { return {at(i, j), row, col}; }
  LaneMatrix transposed() const { return {data, col, row}; }
  // Rows, or rows and columns, in reverse order.
  LaneMatrix upside_down(std::int64_t rows) const { return {at(rows - 1, 0), -row, col}; }
  LaneMatrix reversed(std::int64_t n) const { return {at(n - 1, n - 1), -row, -col}; }
};

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();
#endif
