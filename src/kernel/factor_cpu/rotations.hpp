// Jacobi's plane rotations of two columns, with angles of its own for each problem of a vector, and the order
// of values. Included once per instruction set, hence without an ordinary include guard.
#if defined(TILEWRIGHT_FACTOR_ROTATIONS) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWRIGHT_FACTOR_ROTATIONS
#undef TILEWRIGHT_FACTOR_ROTATIONS
#else
#define TILEWRIGHT_FACTOR_ROTATIONS
#endif

#include "kernel/factor_cpu/reflectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

// x, y = c x - conj(s) y, s x + c y with real c, which makes the Hermitian [a z; conj(z) b] diagonal: z
// becomes 0, a becomes a - t |z|, b becomes b + t |z|.
template <class A>
struct Rotation {
  using V = typename A::V;
  using Mask = hn::Mask<typename A::D>;
  V cosine, sine, tangent;

  // `angle` is (b - a) / (2 |z|), `direction` z / |z|. Problems that are not active get the identity.
  HWY_INLINE Rotation(Mask active, V angle, V direction) {
    const V size = hn::Abs(angle), one = A::constant(1);
    // The square may overflow; then the root is the angle itself.
    const V root =
        hn::IfThenElse(hn::Gt(size, A::constant(1e9)), size, hn::Sqrt(hn::MulAdd(size, size, one)));
    tangent = hn::IfThenElseZero(active, hn::CopySign(hn::Div(one, hn::Add(size, root)), angle));
    cosine = hn::Div(one, hn::Sqrt(hn::MulAdd(tangent, tangent, one)));
    sine = hn::IfThenElseZero(active, hn::Mul(hn::Mul(tangent, cosine), direction));
  }
};

// Applies a rotation to `count` pairs of elements that lie at distances.
template <class A>
struct RotatedPairs {
  using Real = typename A::Real;
  using V = typename A::V;

  // Conjugated: rows, which the adjoint of the rotation multiplies.
  HWY_INLINE RotatedPairs(const Rotation<A>& r, bool conjugated)
      : cosine(r.cosine),
        minus_sine(A::left(hn::Neg(conjugated ? A::conj(r.sine) : r.sine))),
        conj_sine(A::left(conjugated ? r.sine : A::conj(r.sine))) {}

  HWY_INLINE void rotate(V& x, V& y) const {
    const V old = x;
    x = A::subtract_product(hn::Mul(cosine, x), conj_sine, A::right(y));
    y = A::subtract_product(hn::Mul(cosine, y), minus_sine, A::right(old));
  }
  // ConjY: y holds the conjugates of the elements to rotate.
  template <bool ConjY>
  HWY_INLINE void run(Real* x, std::int64_t x_step, Real* y, std::int64_t y_step, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i, x += x_step, y += y_step) {
      V first = A::load(x), second = A::load(y);
      if (ConjY) second = A::conj(second);
      rotate(first, second);
      A::store(first, x);
      A::store(ConjY ? A::conj(second) : second, y);
    }
  }

  V cosine;
  typename A::Left minus_sine, conj_sine;
};

// Columns p and q of a matrix.
template <class A, class Matrix = LaneMatrix<typename A::Real>>
HWY_INLINE void rotate_columns(const Rotation<A>& rotation, const Matrix& x, std::int64_t rows,
                               std::int64_t p, std::int64_t q) {
  RotatedPairs<A>(rotation, false).template run<false>(x.at(0, p), x.row, x.at(0, q), x.row, rows);
}

// Sorts the values of each problem, the largest first or last, and records which column each came from.
template <class A, class Matrix = LaneMatrix<typename A::Real>>
void sort_values(const Matrix& values, const Matrix& columns, std::int64_t n, bool largest_first) {
  for (std::int64_t i = 0; i < n; ++i) A::store(A::constant(double(i)), columns.at(i, 0));
  for (std::int64_t i = 0; i < n; ++i) {
    auto best = A::load(values.at(i, 0)), from = A::load(columns.at(i, 0));
    for (std::int64_t j = i + 1; j < n; ++j) {
      const auto value = A::load(values.at(j, 0)), column = A::load(columns.at(j, 0));
      const auto better = largest_first ? hn::Gt(value, best) : hn::Lt(value, best);
      A::store(hn::IfThenElse(better, best, value), values.at(j, 0));
      A::store(hn::IfThenElse(better, from, column), columns.at(j, 0));
      best = hn::IfThenElse(better, value, best), from = hn::IfThenElse(better, column, from);
    }
    A::store(best, values.at(i, 0)), A::store(from, columns.at(i, 0));
  }
}

// Copies the columns of each problem in the order of its values.
template <class A, class Matrix = LaneMatrix<typename A::Real>>
void copy_in_order(const Matrix& columns, const Matrix& x, std::int64_t rows, std::int64_t n,
                   const Matrix& to) {
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t lane = 0; lane < A::reals(); ++lane) {
      const auto* const from = x.at(0, std::int64_t(columns.at(j, 0)[lane])) + lane;
      auto* const into = to.at(0, j) + lane;
      for (std::int64_t i = 0; i < rows; ++i) into[i * to.row] = from[i * x.row];
    }
}

// The scale of a problem's elements, and which problems are finite.
template <class A>
class Magnitude {
  using V = typename A::V;
  using D = typename A::D;

 public:
  // No initializers of members: compilers set no instruction set for what they run in.
  HWY_INLINE Magnitude() : largest_(A::zero()), zeros_(A::zero()) {}

  HWY_INLINE void add(V v) {
    largest_ = hn::Max(largest_, hn::Abs(v));
    zeros_ = hn::MulAdd(v, A::zero(), zeros_);  // becomes NaN
  }
  V largest() const { return larger_part<A>(largest_); }
  V power() const { return power_below<A>(largest()); }
  hn::Mask<D> is_finite() const { return hn::Eq(sum_of_parts<A>(zeros_), A::zero()); }

 private:
  V largest_, zeros_;
};

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();
#endif
