// P A = L U and what it serves, LAPACK xGETRF, xGETRS, xGESV and xGETRI, the inverse and the determinant of a
// matrix, for the problems of a vector at once. Highway compiles this file per instruction set.
#include "kernel/factor_cpu/kernel.hpp"
#include "kernel/factor_cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/factor_cpu/lu.cpp"
#include "hwy/foreach_target.h"
// These follow foreach_target, which sets the instruction set they compile for.
#include "hwy/highway.h"
#include "kernel/factor_cpu/blocks.hpp"
#include "kernel/factor_cpu/pivots.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

// A product of elements as product * step^count, whose parts neither overflow nor underflow on the way.
template <class A>
class ScaledProduct {
  using V = typename A::V;
  static constexpr bool is_double = sizeof(typename A::Real) == 8;
  static constexpr double step = is_double ? 0x1p512 : 0x1p64, root = is_double ? 0x1p256 : 0x1p32;

 public:
  ScaledProduct() : product_(A::one()), count_(A::zero()) {}
  void multiply(V x) {
    if (rescale(x)) rescale(x);  // all elements lie within two steps
    product_ = A::multiply(product_, x);
    rescale(product_);
  }
  template <class Mask>
  void negate(Mask lanes) {
    product_ = hn::IfThenElse(lanes, hn::Neg(product_), product_);
  }
  // Three steps leave the range from any product near 1.
  V value() const {
    V value = product_;
    for (double passed = 0; passed < 3; ++passed) {
      value = hn::IfThenElse(hn::Gt(count_, A::constant(passed)), hn::Mul(value, A::constant(step)), value);
      value =
          hn::IfThenElse(hn::Lt(count_, A::constant(-passed)), hn::Mul(value, A::constant(1 / step)), value);
    }
    return value;
  }

 private:
  // Brings what lies outside [1 / root, root) nearer to 1 by a step. Returns false if nothing does.
  bool rescale(V& x) {
    const V size = A::size(x), one = A::constant(1);
    const auto large = hn::Ge(size, A::constant(root)), small = hn::Lt(size, A::constant(1 / root));
    if (hn::AllFalse(typename A::D(), hn::Or(large, small))) return false;
    x = hn::IfThenElse(large, hn::Mul(x, A::constant(1 / step)), x);
    x = hn::IfThenElse(small, hn::Mul(x, A::constant(step)), x);
    count_ = hn::IfThenElse(large, hn::Add(count_, one), count_);
    count_ = hn::IfThenElse(small, hn::Sub(count_, one), count_);
    return true;
  }
  V product_, count_;
};

// The elimination of one vector of problems; see LaneGroup for the arrays.
template <class A>
class Elimination {
  using Real = typename A::Real;
  using V = typename A::V;
  using D = typename A::D;
  using Matrix = LaneMatrix<Real>;

 public:
  Elimination(const LaneShape& shape, const LaneGroup& group, const Matrix& a, std::int64_t slot)
      : m_(shape.m),
        n_(shape.n),
        steps_(std::min(shape.m, shape.n)),
        slots_(group.slots),
        a_(a),
        inverses_(static_cast<Real*>(group.work)),
        exchanges_(inverses_ + steps_ * A::reals(), m_, steps_),
        pivots_(group.pivots != nullptr ? group.pivots + slot : nullptr),
        partial_(shape.pivoting == Pivoting::partial) {}

  // Factors; returns info. Without `keeps_lower` the rows of L may stay where they are, if nothing needs
  // them: then the right sides go along, and forward_is_done().
  V factor(bool keeps_lower, const Matrix& b, std::int64_t nrhs) {
    if (!partial_) return factor_in_order();
    forward_is_done_ = !keeps_lower && steps_ <= single_panel;
    if (!forward_is_done_) nrhs = 0;
    V info = A::zero();
    for (std::int64_t first = 0; first < steps_; first += panel_columns()) {
      const std::int64_t last = std::min(first + panel_columns(), steps_);
      const std::int64_t end = steps_ <= single_panel ? n_ : last;  // a wide matrix's other columns go along
      Panel<A> panel(a_, m_, end, b, nrhs, exchanges_, inverses_);
      for (std::int64_t k = first; k < last; ++k) {
        tiny_ = panel.step(k, pivots_ != nullptr ? pivots_ + k * slots_ : nullptr, info) || tiny_;
        if (!forward_is_done_) exchange(exchanges_, k, a_, 0, k);
      }
      update_behind(first, last, end);
    }
    return info;
  }

  // Reads factors that were computed earlier.
  void take_factors() {
    if (partial_)
      for (std::int64_t k = 0; k < n_; ++k) exchanges_.get(k, pivots_ + k * slots_);
    tiny_ = Inverses<A>(a_, n_, inverses_).needs_division();
  }

  // B = inv(op(A)) B
  void solve(Op op, const Matrix& b, std::int64_t nrhs) const {
    const Inverses<A> inverses(inverses_, n_, tiny_);
    if (forward_is_done_) return solve_upper<A, false>(a_, n_, &inverses, b, nrhs);
    if (op == Op::none) {
      if (partial_)
        for (std::int64_t k = 0; k < n_; ++k) exchange(exchanges_, k, b, 0, nrhs);
      return solve_in_order(inverses, b, nrhs);
    }
    if (op == Op::conj_trans)
      solve_transposed<true>(inverses, b, nrhs);
    else
      solve_transposed<false>(inverses, b, nrhs);
  }

  // X = inv(A)
  void invert(const Matrix& x) const {
    set_permutation(x);
    solve_in_order(Inverses<A>(inverses_, n_, tiny_), x, n_);
  }

  // The product of the pivots, with the sign of the permutation.
  V determinant() const {
    ScaledProduct<A> det;
    for (std::int64_t k = 0; k < n_; ++k) {
      det.multiply(A::load(a_.at(k, k)));
      if (partial_) det.negate(hn::Ne(exchanges_.rows(k), A::constant(double(k))));
    }
    return det.value();
  }

  V zero_pivot() const { return first_zero<A>(a_, n_); }

 private:
  static constexpr std::int64_t single_panel =
      24;  // up to this many steps all columns are updated step by step
  std::int64_t panel_columns() const { return steps_ <= single_panel ? steps_ : 8; }

  // Exchanges rows of the columns behind a panel and subtracts the product with it.
  void update_behind(std::int64_t first, std::int64_t last, std::int64_t end) {
    if (end == n_) return;
    for (std::int64_t k = first; k < last; ++k) exchange(exchanges_, k, a_, end, n_);
    solve_lower<A, false>(a_.from(first, first), last - first, nullptr, a_.from(first, end), n_ - end);
    subtract_product<A, false, false>(a_.from(last, first), a_.from(first, end), last - first,
                                      a_.from(last, end), m_ - last, n_ - end);
  }

  // Without pivoting, by blocks, each of which is written once.
  V factor_in_order() {
    V info = A::zero();
    each_block<A>(m_, n_, [&](std::int64_t i, std::int64_t j, auto rows, auto cols) HWY_ATTR {
      LaneBlock<A, rows(), cols()> block;
      block.load(a_.from(i, j));
      block.template subtract_product<false, false>(a_.from(i, 0), a_.from(0, j), std::min(i, j));
      if (i < j) {
        block.template solve_left<false>(a_.from(i, i), nullptr);
      } else {
        Real* const inverses = inverses_ + j * A::reals();
        if (i == j)
          factor_block(block, j, info);
        else
          block.template solve_right<false>(a_.from(j, j), Matrix{inverses, A::reals(), 0});
      }
      block.store(a_.from(i, j));
    });
    return info;
  }

  template <int Rows, int Cols>
  HWY_INLINE void factor_block(LaneBlock<A, Rows, Cols>& block, std::int64_t first, V& info) {
    auto& x = block.x;
#pragma GCC unroll 4
    for (int k = 0; k < (Rows < Cols ? Rows : Cols); ++k) {
      const V size = A::size(x[k][k]);
      const auto is_zero = hn::Eq(size, A::zero());
      info =
          hn::IfThenElse(hn::And(is_zero, hn::Eq(info, A::zero())), A::constant(double(first + k + 1)), info);
      tiny_ = tiny_ || A::has_tiny(size);
      const V inverse = A::divide(A::one(), x[k][k]);
      A::store(inverse, inverses_ + (first + k) * A::reals());
      const auto right = A::right(inverse);
#pragma GCC unroll 4
      for (int i = k + 1; i < Rows; ++i) {
        x[i][k] = A::multiply(A::left(x[i][k]), right);
        const auto left = A::left(x[i][k]);
#pragma GCC unroll 4
        for (int j = k + 1; j < Cols; ++j) x[i][j] = A::subtract_product(x[i][j], left, A::right(x[k][j]));
      }
    }
  }

  void solve_in_order(const Inverses<A>& inverses, const Matrix& b, std::int64_t nrhs) const {
    solve_lower<A, false>(a_, n_, nullptr, b, nrhs);
    solve_upper<A, false>(a_, n_, &inverses, b, nrhs);
  }
  template <bool Conj>
  void solve_transposed(const Inverses<A>& inverses, const Matrix& b, std::int64_t nrhs) const {
    solve_lower<A, Conj>(a_.transposed(), n_, &inverses, b, nrhs);
    solve_upper<A, Conj>(a_.transposed(), n_, nullptr, b, nrhs);
    if (partial_)
      for (std::int64_t k = n_ - 1; k >= 0; --k) exchange(exchanges_, k, b, 0, nrhs);
  }

  // X = P, the unit matrix with its rows exchanged.
  void set_permutation(const Matrix& x) const {
    if (!partial_) return set_unit<A>(x, n_);
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < n_; ++i) A::store(A::zero(), x.at(i, j));
    int row[most_lane_rows];
    for (std::int64_t slot = 0; slot < A::reals() / A::parts; ++slot) {
      for (int i = 0; i < int(n_); ++i) row[i] = i;
      for (std::int64_t k = 0; k < n_; ++k) std::swap(row[k], row[pivots_[k * slots_ + slot] - 1]);
      for (std::int64_t i = 0; i < n_; ++i) *(x.at(i, row[i]) + slot * A::parts) = Real(1);
    }
  }

  std::int64_t m_, n_, steps_, slots_;
  Matrix a_;
  Real* inverses_;
  Exchanges<A> exchanges_;
  int* pivots_;
  bool partial_, tiny_ = false, forward_is_done_ = false;
};

// The kernel of the routines named above.
template <class A>
void run_lu(const LaneShape& shape, const LaneGroup& group) {
  using Real = typename A::Real;
  each_vector<A>(shape, group, [&](const auto& a, const auto& b, std::int64_t slot) HWY_ATTR {
    Elimination<A> elimination(shape, group, a, slot);
    const Routine routine = shape.routine;
    auto info = A::zero();
    if (routine == Routine::getrs || routine == Routine::getri) {
      elimination.take_factors();
      if (routine == Routine::getri) info = elimination.zero_pivot();
    } else {
      const bool solves = routine == Routine::gesv;
      info = elimination.factor(!solves && routine != Routine::det, b, solves ? shape.nrhs : 0);
    }
    store_info<A>(info, group.info + slot);
    if (routine == Routine::gesv || routine == Routine::getrs) elimination.solve(shape.op, b, shape.nrhs);
    if (routine == Routine::getri || routine == Routine::inv) elimination.invert(b);
    if (routine == Routine::det)
      A::store(elimination.determinant(), static_cast<Real*>(group.values) + slot * A::parts);
  });
}

LaneKernel find_lu(const LaneShape& shape) {
  return dispatch(shape.dtype, []<class T>() -> LaneKernel { return run_lu<LanesOf<T>>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewright {

HWY_EXPORT(find_lu);

LaneKernel find_lu_kernel(const LaneShape& shape) { return HWY_DYNAMIC_DISPATCH(find_lu)(shape); }

}  // namespace tilewright
#endif
