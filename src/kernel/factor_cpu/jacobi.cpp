// Eigenvalues and singular values by Jacobi's rotations, LAPACK xSYEV, xHEEV and xGESVD, for the problems of
// a vector at once: two-sided rotations of a Hermitian matrix, one-sided ones of the adjoint of a factor R
// (Drmac and Veselic 2008). Highway compiles this file per instruction set.
#include "kernel/factor_cpu/kernel.hpp"
#include "kernel/factor_cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/factor_cpu/jacobi.cpp"
#include "hwy/foreach_target.h"
// These follow foreach_target, which sets the instruction set they compile for.
#include <cmath>

#include "hwy/highway.h"
#include "kernel/factor_cpu/rotations.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

constexpr int most_sweeps = 30;  // quadratic convergence needs about 10

// The eigenvalues and eigenvectors of one vector of problems, from a lower triangle.
template <class A>
class Eigenproblem {
  using Real = typename A::Real;
  using V = typename A::V;
  using D = typename A::D;
  using Matrix = LaneMatrix<Real>;

 public:
  // `work` has place for n (n + 1) vectors. vectors: n x n in work memory; without data if only values are
  // wanted. Columns of an odd number of vectors keep the elements of a row in different sets of the cache.
  Eigenproblem(std::int64_t n, Real* work, const Matrix& vectors)
      : a_{work, A::reals(), (n | 1) * A::reals()}, n_(n), vectors_(vectors) {}

  // Returns info. `conjugated`: the triangle holds the conjugates.
  V run(const Matrix& triangle, bool conjugated) {
    prepare(triangle, conjugated);
    if (vectors_.data != nullptr) set_unit<A>(vectors_, n_);
    for (int sweep = 0; sweep < most_sweeps; ++sweep)
      if (!rotate_all()) break;
    return hn::IfThenElse(finite_, left_over(), A::constant(double(pairs_of_columns(n_))));
  }

  void give_values(const Matrix& values) const {
    for (std::int64_t i = 0; i < n_; ++i)
      A::store(hn::Mul(real_part<A>(A::load(a_.at(i, i))), power_), values.at(i, 0));
  }

 private:
  // Scales the largest element to at least 1 and less than 2, so that no square overflows.
  void prepare(const Matrix& triangle, bool conjugated) {
    Magnitude<A> magnitude;
    each_element([&](std::int64_t i, std::int64_t j) HWY_ATTR {
      V v = A::load(triangle.at(i, j));
      if (i == j) v = as_element<A>(v);
      if (conjugated) v = A::conj(v);
      magnitude.add(v);
      A::store(v, a_.at(i, j));
    });
    power_ = magnitude.power(), finite_ = magnitude.is_finite();
    const V inverse = hn::Div(A::constant(1), power_);
    each_element([&](std::int64_t i, std::int64_t j)
                     HWY_ATTR { A::store(hn::Mul(A::load(a_.at(i, j)), inverse), a_.at(i, j)); });
    const auto unit = A::constant(double(std::numeric_limits<Real>::epsilon()) / 4);
    negligible_ = hn::Mul(hn::Mul(magnitude.largest(), inverse), unit);
  }
  template <class F>
  HWY_INLINE void each_element(F&& f) const {
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = j; i < n_; ++i) f(i, j);
  }

  HWY_INLINE hn::Mask<D> must_rotate(V size) const { return hn::And(finite_, hn::Gt(size, negligible_)); }
  static HWY_INLINE V absolute(V z) {
    if constexpr (A::is_complex)
      return hn::Sqrt(sum_of_parts<A>(hn::Mul(z, z)));
    else
      return hn::Abs(z);
  }

  bool rotate_all() {
    bool any = false;
    for (std::int64_t p = 0; p + 1 < n_; ++p)
      for (std::int64_t q = p + 1; q < n_; ++q) {
        const V z = A::conj(A::load(a_.at(q, p))), size = absolute(z);
        const auto active = must_rotate(size);
        if (hn::AllFalse(D(), active)) continue;
        any = true;
        rotate(p, q, z, size, active);
      }
    return any;
  }

  template <class Mask>
  HWY_INLINE void rotate(std::int64_t p, std::int64_t q, V z, V size, Mask active) {
    const V first = A::load(a_.at(p, p)), second = A::load(a_.at(q, q));
    const V difference = real_part<A>(hn::Sub(second, first));
    const Rotation<A> rotation(active, hn::Div(difference, hn::Add(size, size)), hn::Div(z, size));
    const V change = as_element<A>(hn::Mul(rotation.tangent, size));
    A::store(hn::Sub(first, change), a_.at(p, p));
    A::store(hn::Add(second, change), a_.at(q, q));
    const RotatedPairs<A> columns(rotation, false), rows(rotation, true);
    rows.template run<false>(a_.at(p, 0), a_.col, a_.at(q, 0), a_.col, p);
    columns.template run<true>(a_.at(p + 1, p), a_.row, a_.at(q, p + 1), a_.col, q - p - 1);
    columns.template run<false>(a_.at(q + 1, p), a_.row, a_.at(q + 1, q), a_.row, n_ - q - 1);
    A::store(hn::IfThenZeroElse(active, A::conj(z)), a_.at(q, p));
    if (vectors_.data != nullptr) rotate_columns<A>(rotation, vectors_, n_, p, q);
  }

  // The elements beside the diagonal that are not negligible.
  V left_over() const {
    V count = A::zero();
    each_element([&](std::int64_t i, std::int64_t j) HWY_ATTR {
      if (i == j) return;
      const auto counts = must_rotate(absolute(A::load(a_.at(i, j))));
      count = hn::Add(count, hn::IfThenElseZero(counts, A::constant(1)));
    });
    return count;
  }

  Matrix a_;
  std::int64_t n_;
  Matrix vectors_;
  V power_, negligible_;
  hn::Mask<D> finite_;
};

// Columns made orthogonal by rotations from the right: W J, where J is their product.
template <class A>
class Orthogonalization {
  using Real = typename A::Real;
  using V = typename A::V;
  using D = typename A::D;
  using Mask = hn::Mask<D>;
  using Matrix = LaneMatrix<Real>;

 public:
  // rotations: J, n x n; without data if it is not wanted. norms: work memory.
  Orthogonalization(const Matrix& w, std::int64_t n, const Matrix& rotations, const Matrix& norms,
                    Mask finite)
      : w_(w),
        n_(n),
        rotations_(rotations),
        norms_(norms),
        finite_(finite),
        least_norm_(A::constant(std::sqrt(double(Limits::min()) / double(Limits::epsilon())))),
        negligible_(A::constant(double(Limits::epsilon()) * std::sqrt(double(n + 4)))),
        noise_(hn::Mul(negligible_, A::constant(4))) {}

  // Returns the pairs of columns that did not become orthogonal.
  V run() {
    V left(A::zero());
    give_norms(norms_);
    for (int sweep = 0; sweep < most_sweeps; ++sweep) {
      left = A::zero();
      bool any = false;
      for (std::int64_t p = 0; p + 1 < n_; ++p)
        for (std::int64_t q = p + 1; q < n_; ++q) any = rotate(p, q, left) || any;
      if (!any) break;
      clear_noise();
    }
    return left;
  }

  void give_norms(const Matrix& norms) const {
    for (std::int64_t j = 0; j < n_; ++j) A::store(column_norm(j), norms.at(j, 0));
  }

 private:
  using Limits = std::numeric_limits<Real>;

  struct Products {
    HWY_INLINE Products() : first(A::zero()), second(A::zero()), minus_both(A::zero()) {}
    HWY_INLINE void add(V x, V y) {
      first = hn::MulAdd(x, x, first), second = hn::MulAdd(y, y, second);
      minus_both = A::subtract_product(minus_both, A::left(A::conj(x)), A::right(y));
    }

    V first, second, minus_both;
  };

  // Returns false if the columns are orthogonal in all problems. Norms below the least count as that: their
  // squares lose digits, and what is left of their product is negligible.
  HWY_INLINE bool rotate(std::int64_t p, std::int64_t q, V& left) {
    Products even, odd;  // two chains of sums
    std::int64_t i = 0;
    for (; i + 1 < n_; i += 2) {
      even.add(A::load(w_.at(i, p)), A::load(w_.at(i, q)));
      odd.add(A::load(w_.at(i + 1, p)), A::load(w_.at(i + 1, q)));
    }
    if (i < n_) even.add(A::load(w_.at(i, p)), A::load(w_.at(i, q)));
    const V first = norm(even.first, odd.first), second = norm(even.second, odd.second);
    const V both = hn::Neg(hn::Add(even.minus_both, odd.minus_both));
    const V cosine = hn::Div(hn::Div(both, first), second);
    const V size = A::is_complex ? hn::Sqrt(sum_of_parts<A>(hn::Mul(cosine, cosine))) : hn::Abs(cosine);
    const Mask active = hn::And(finite_, hn::Gt(size, negligible_));
    if (hn::AllFalse(D(), active)) return false;
    left = hn::Add(left, hn::IfThenElseZero(active, A::constant(1)));
    const V ratio = hn::Div(second, first);
    const V angle = hn::Div(hn::Sub(ratio, hn::Div(A::constant(1), ratio)), hn::Add(size, size));
    const Rotation<A> rotation(active, angle, hn::Div(cosine, size));
    rotate_columns<A>(rotation, w_, n_, p, q);
    if (rotations_.data != nullptr) rotate_columns<A>(rotation, rotations_, n_, p, q);
    return true;
  }

  // A column that lost all digits of its norm in one sweep is a combination of others, of which nothing but
  // rounding errors is left. It becomes zero: in a space that other columns fill errors are orthogonal to
  // nothing, and would only shrink sweep after sweep.
  void clear_noise() {
    for (std::int64_t j = 0; j < n_; ++j) {
      const V norm = column_norm(j), bound = hn::Mul(A::load(norms_.at(j, 0)), noise_);
      A::store(norm, norms_.at(j, 0));
      const Mask cleared = hn::Lt(norm, bound);
      if (HWY_LIKELY(hn::AllFalse(D(), cleared))) continue;
      for (std::int64_t i = 0; i < n_; ++i)
        A::store(hn::IfThenZeroElse(cleared, A::load(w_.at(i, j))), w_.at(i, j));
    }
  }

  V column_norm(std::int64_t j) const {
    V squares = A::zero();
    for (std::int64_t i = 0; i < n_; ++i) {
      const V v = A::load(w_.at(i, j));
      squares = hn::MulAdd(v, v, squares);
    }
    return hn::Sqrt(sum_of_parts<A>(squares));
  }
  HWY_INLINE V norm(V even, V odd) const {
    return hn::Max(hn::Sqrt(sum_of_parts<A>(hn::Add(even, odd))), least_norm_);
  }

  Matrix w_;
  std::int64_t n_;
  Matrix rotations_, norms_;
  Mask finite_;
  V least_norm_, negligible_, noise_;
};

template <class A, class Matrix = LaneMatrix<typename A::Real>>
void conjugate(const Matrix& x, std::int64_t rows, std::int64_t cols) {
  if (!A::is_complex) return;
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < rows; ++i) A::store(A::conj(A::load(x.at(i, j))), x.at(i, j));
}

// The singular values and vectors of one vector of problems. A tall A is Q R, and R^H J = W with orthogonal
// columns: so A = (Q J) diag(norms of W) (W / norms)^H. A wide A is the adjoint of a tall one.
template <class A>
class SingularProblem {
  using Real = typename A::Real;
  using V = typename A::V;
  using Matrix = LaneMatrix<Real>;

 public:
  // `work` has place for 2 k^2 + 3 k vectors with k = min(m, n).
  SingularProblem(const Matrix& a, std::int64_t m, std::int64_t n, Real* work)
      : a_(a),
        tall_(m >= n ? a : a.transposed()),
        m_(m),
        n_(n),
        rows_(std::max(m, n)),
        k_(std::min(m, n)),
        w_{work, A::reals(), k_ * A::reals()},
        rotations_{work + k_ * k_ * A::reals(), A::reals(), k_ * A::reals()},
        tau_{work + 2 * k_ * k_ * A::reals(), A::reals(), 0},
        other_tau_(tau_.from(k_, 0)),
        columns_(tau_.from(2 * k_, 0)) {}

  // Writes the values; returns info.
  V run(bool vectors, const Matrix& values) {
    const Magnitude<A> magnitude = prepare();
    factor_qr<A>(tall_, rows_, k_, tau_, tall_, 0);
    for (std::int64_t j = 0; j < k_; ++j)
      for (std::int64_t i = 0; i < k_; ++i)
        A::store(i < j ? A::zero() : A::conj(A::load(tall_.at(j, i))), w_.at(i, j));
    if (vectors) set_unit<A>(rotations_, k_);
    Orthogonalization<A> columns(w_, k_, vectors ? rotations_ : Matrix{nullptr, 0, 0}, columns_,
                                 magnitude.is_finite());
    const V left = columns.run();
    columns.give_norms(values);
    sort_values<A>(values, columns_, k_, true);
    const V power = magnitude.power(), from_scale = A::constant(1 / scale());
    for (std::int64_t j = 0; j < k_; ++j)
      A::store(hn::Mul(hn::Mul(A::load(values.at(j, 0)), from_scale), power), values.at(j, 0));
    return hn::IfThenElse(magnitude.is_finite(), left, A::constant(double(pairs_of_columns(k_))));
  }

  // U is m x k, V^H k x n.
  void give_vectors(const Matrix& u, const Matrix& vh) const {
    const Matrix of_tall = m_ >= n_ ? u : vh.transposed(), of_wide = m_ >= n_ ? vh.transposed() : u;
    copy_in_order<A>(columns_, rotations_, k_, k_, of_tall);
    for (std::int64_t j = 0; j < k_; ++j)
      for (std::int64_t i = k_; i < rows_; ++i) A::store(A::zero(), of_tall.at(i, j));
    apply_q<A>(tall_, rows_, k_, tau_, false, of_tall, k_);
    copy_in_order<A>(columns_, w_, k_, k_, rotations_);
    normalize(rotations_, of_wide);
    conjugate<A>(vh, k_, n_);
  }

 private:
  // What the largest elements are scaled to: sums of squares stay finite, and those of small columns normal.
  static double scale() { return std::ldexp(1.0, std::numeric_limits<Real>::max_exponent / 2 - 8); }

  Magnitude<A> prepare() const {
    if (m_ < n_) conjugate<A>(a_, m_, n_);
    Magnitude<A> magnitude;
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < m_; ++i) magnitude.add(A::load(a_.at(i, j)));
    const V inverse = hn::Div(A::constant(1), magnitude.power()), to_scale = A::constant(scale());
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < m_; ++i)
        A::store(hn::Mul(hn::Mul(A::load(a_.at(i, j)), inverse), to_scale), a_.at(i, j));
    return magnitude;
  }

  // Divides orthogonal columns by their norms: they are Q R with a diagonal R, and Q is orthonormal even
  // where columns are zero.
  void normalize(const Matrix& x, const Matrix& to) const {
    factor_qr<A>(x, k_, k_, other_tau_, x, 0);
    set_unit<A>(to, k_);
    apply_q<A>(x, k_, k_, other_tau_, false, to, k_);
    for (std::int64_t j = 0; j < k_; ++j) {
      const auto negative = hn::Lt(real_part<A>(A::load(x.at(j, j))), A::zero());
      for (std::int64_t i = 0; i < k_; ++i) {
        const V v = A::load(to.at(i, j));
        A::store(hn::IfThenElse(negative, hn::Neg(v), v), to.at(i, j));
      }
    }
  }

  Matrix a_, tall_;
  std::int64_t m_, n_, rows_, k_;
  Matrix w_, rotations_, tau_, other_tau_, columns_;
};

// The kernel of the routines named above.
template <class A>
void run_jacobi(const LaneShape& shape, const LaneGroup& group) {
  using Real = typename A::Real;
  using Matrix = LaneMatrix<Real>;
  const std::int64_t m = shape.m, n = shape.n, k = std::min(m, n), pitch = group.slots * A::parts;
  auto* const work = static_cast<Real*>(group.work);
  each_vector<A>(shape, group, [&](const Matrix& a, const Matrix& b, std::int64_t slot) HWY_ATTR {
    const Matrix values{static_cast<Real*>(group.values) + slot * A::parts, pitch, 0};
    if (shape.routine == Routine::gesvd) {
      const Matrix vh =
          stored_matrix<A>(static_cast<Real*>(group.c) + slot * A::parts, k, n, pitch, group.c_by_rows);
      SingularProblem<A> problem(a, m, n, work);
      store_info<A>(problem.run(shape.vectors, values), group.info + slot);
      if (shape.vectors) problem.give_vectors(b, vh);
      return;
    }
    const bool upper = shape.uplo == Uplo::upper;
    const Matrix vectors{work, A::reals(), n * A::reals()}, columns{work + n * n * A::reals(), A::reals(), 0};
    Eigenproblem<A> problem(n, columns.at(n, 0), shape.vectors ? vectors : Matrix{nullptr, 0, 0});
    store_info<A>(problem.run(upper ? a.transposed() : a, upper), group.info + slot);
    problem.give_values(values);
    sort_values<A>(values, columns, n, false);
    if (shape.vectors) copy_in_order<A>(columns, vectors, n, n, b);
  });
}

LaneKernel find_jacobi(const LaneShape& shape) {
  return dispatch(shape.dtype, []<class T>() -> LaneKernel { return run_jacobi<LanesOf<T>>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewright {

HWY_EXPORT(find_jacobi);

LaneKernel find_jacobi_kernel(const LaneShape& shape) { return HWY_DYNAMIC_DISPATCH(find_jacobi)(shape); }

}  // namespace tilewright
#endif
