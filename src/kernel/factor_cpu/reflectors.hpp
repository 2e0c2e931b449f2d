// Householder's reflectors and the factorization QR for the problems of a vector, with the signs and tau of
// LAPACK xLARFG. Included once per instruction set, hence without an ordinary include guard.
#if defined(TILEWRIGHT_FACTOR_REFLECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWRIGHT_FACTOR_REFLECTORS
#undef TILEWRIGHT_FACTOR_REFLECTORS
#else
#define TILEWRIGHT_FACTOR_REFLECTORS
#endif

#include <algorithm>
#include <limits>

#include "kernel/factor_cpu/blocks.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

// The larger of both parts of complex numbers, and their sum, in all lanes of a pair.
template <class A, class V = typename A::V>
HWY_INLINE V larger_part(V v) {
  if constexpr (A::is_complex)
    return hn::Max(v, hn::Reverse2(typename A::D(), v));
  else
    return v;
}
template <class A, class V = typename A::V>
HWY_INLINE V sum_of_parts(V v) {
  if constexpr (A::is_complex)
    return hn::Add(v, hn::Reverse2(typename A::D(), v));
  else
    return v;
}
// A real number per problem, which all lanes of a pair hold, as a complex one.
template <class A, class V = typename A::V>
HWY_INLINE V as_element(V real) {
  if constexpr (A::is_complex)
    return hn::OddEven(A::zero(), real);
  else
    return real;
}
// The real part, in all lanes of a pair.
template <class A, class V = typename A::V>
HWY_INLINE V real_part(V v) {
  if constexpr (A::is_complex)
    return hn::DupEven(v);
  else
    return v;
}

// The power of two next below each lane, but one whose inverse is a normal number.
template <class A, class V = typename A::V>
HWY_INLINE V power_below(V v) {
  using Real = typename A::Real;
  using Limits = std::numeric_limits<Real>;
  const hn::RebindToUnsigned<typename A::D> bits;
  const auto exponent = hn::BitCast(bits, A::constant(double(Limits::infinity())));
  const V power = hn::BitCast(typename A::D(), hn::And(hn::BitCast(bits, v), exponent));
  return hn::Min(hn::Max(power, A::constant(double(Limits::min()))), A::constant(double(1 / Limits::min())));
}

// Makes H with H^H x = (beta, 0, ...) from a column x of `rows` elements: beta and v, whose first element is
// 1, overwrite x. Returns tau. A column that is of this form already has tau 0.
template <class A, class Matrix = LaneMatrix<typename A::Real>, class V = typename A::V>
V make_reflector(const Matrix& x, std::int64_t rows) {
  const V alpha = A::load(x.at(0, 0));
  V below = A::zero();
  for (std::int64_t i = 1; i < rows; ++i) below = hn::Max(below, hn::Abs(A::load(x.at(i, 0))));
  V aside = below;  // with the imaginary part, which becomes zero too
  if constexpr (A::is_complex) aside = hn::Max(aside, hn::OddEven(hn::Abs(alpha), A::zero()));
  const auto stays = hn::Eq(larger_part<A>(aside), A::zero());
  const V scale = power_below<A>(larger_part<A>(hn::Max(below, hn::Abs(alpha))));
  const V to_scale = hn::Div(A::constant(1), scale);
  const V scaled = hn::Mul(alpha, to_scale);
  V squares = hn::Mul(scaled, scaled);
  for (std::int64_t i = 1; i < rows; ++i) {
    const V y = hn::Mul(A::load(x.at(i, 0)), to_scale);
    squares = hn::MulAdd(y, y, squares);
  }
  const V norm = hn::Sqrt(sum_of_parts<A>(squares));
  const V beta = hn::Neg(hn::CopySign(norm, real_part<A>(alpha)));
  const V difference = hn::Sub(scaled, as_element<A>(beta));
  const auto inverse = A::left(hn::IfThenZeroElse(stays, A::divide(A::one(), difference)));
  for (std::int64_t i = 1; i < rows; ++i)
    A::store(A::multiply(inverse, A::right(hn::Mul(A::load(x.at(i, 0)), to_scale))), x.at(i, 0));
  A::store(hn::IfThenElse(stays, alpha, as_element<A>(hn::Mul(beta, scale))), x.at(0, 0));
  return hn::IfThenZeroElse(stays, hn::Div(hn::Neg(difference), beta));
}

// C -= v tau v^H C for the first columns of C; v has `rows` elements, the first of which is 1.
template <class A, int Cols, class Matrix = LaneMatrix<typename A::Real>>
HWY_INLINE void reflect_few(const Matrix& v, std::int64_t rows, const typename A::Left& tau,
                            const Matrix& c) {
  typename A::V sum[Cols];
  typename A::Right right[Cols];
#pragma GCC unroll 4
  for (int j = 0; j < Cols; ++j) sum[j] = hn::Neg(A::load(c.at(0, j)));
  for (std::int64_t i = 1; i < rows; ++i) {
    const auto left = A::left(A::conj(A::load(v.at(i, 0))));
#pragma GCC unroll 4
    for (int j = 0; j < Cols; ++j) sum[j] = A::subtract_product(sum[j], left, A::right(A::load(c.at(i, j))));
  }
#pragma GCC unroll 4
  for (int j = 0; j < Cols; ++j) {
    sum[j] = hn::Neg(A::multiply(tau, A::right(sum[j])));
    right[j] = A::right(sum[j]);
    A::store(hn::Sub(A::load(c.at(0, j)), sum[j]), c.at(0, j));
  }
  for (std::int64_t i = 1; i < rows; ++i) {
    const auto left = A::left(A::load(v.at(i, 0)));
#pragma GCC unroll 4
    for (int j = 0; j < Cols; ++j)
      A::store(A::subtract_product(A::load(c.at(i, j)), left, right[j]), c.at(i, j));
  }
}

template <class A, class Matrix = LaneMatrix<typename A::Real>>
void reflect(const Matrix& v, std::int64_t rows, typename A::V tau, const Matrix& c, std::int64_t cols) {
  const auto left = A::left(tau);
  for (std::int64_t j = 0; j < cols; j += 4)
    with_constant<4>(cols - j,
                     [&](auto width) HWY_ATTR { reflect_few<A, width()>(v, rows, left, c.from(0, j)); });
}

// A = Q R for m x n; the tau of reflector k is stored at (k, 0). B = Q^H B goes along.
template <class A, class Matrix = LaneMatrix<typename A::Real>>
void factor_qr(const Matrix& a, std::int64_t m, std::int64_t n, const Matrix& tau, const Matrix& b,
               std::int64_t nrhs) {
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    const auto column = a.from(k, k);
    const auto factor = make_reflector<A>(column, m - k);
    A::store(factor, tau.at(k, 0));
    if (!A::is_complex && k + 1 == m) break;  // there tau is 0
    reflect<A>(column, m - k, A::conj(factor), a.from(k, k + 1), n - k - 1);
    reflect<A>(column, m - k, A::conj(factor), b.from(k, 0), nrhs);
  }
}

// C = Q C or, `adjoint`, Q^H C for C with m rows and the first k reflectors of A.
template <class A, class Matrix = LaneMatrix<typename A::Real>>
void apply_q(const Matrix& a, std::int64_t m, std::int64_t k, const Matrix& tau, bool adjoint,
             const Matrix& c, std::int64_t cols) {
  for (std::int64_t step = 0; step < k; ++step) {
    const std::int64_t i = adjoint ? step : k - 1 - step;
    const auto factor = A::load(tau.at(i, 0));
    reflect<A>(a.from(i, i), m - i, adjoint ? A::conj(factor) : factor, c.from(i, 0), cols);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();
#endif
