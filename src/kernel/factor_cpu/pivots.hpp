// Gaussian elimination with a pivot row of its own for each problem of a vector. Rows are exchanged under
// masks, and only those that some problem chose. Included once per instruction set, hence without an ordinary
// include guard.
#if defined(TILEWRIGHT_FACTOR_PIVOTS) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWRIGHT_FACTOR_PIVOTS
#undef TILEWRIGHT_FACTOR_PIVOTS
#else
#define TILEWRIGHT_FACTOR_PIVOTS
#endif

#include <bit>
#include <cstring>

#include "kernel/factor_cpu/blocks.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

// The row exchanges of the steps of an elimination: step k exchanges rows k and rows(k), a number in every
// lane.
template <class A>
class Exchanges {
  using Real = typename A::Real;
  using V = typename A::V;
  using D = typename A::D;

 public:
  // `work` has place for 2 n vectors.
  Exchanges(Real* work, std::int64_t n)
      : rows_(work), sets_(reinterpret_cast<char*>(work + n * A::reals())) {}

  HWY_INLINE V rows(std::int64_t k) const { return A::load(rows_ + k * A::reals()); }
  // The set of rows other than k that some problem exchanges in step k.
  std::uint64_t set(std::int64_t k) const {
    std::uint64_t set = 0;
    std::memcpy(&set, sets_ + k * std::int64_t(sizeof set), sizeof set);
    return set;
  }
  // Records step k.
  HWY_INLINE void put(std::int64_t k, V rows, int* pivots) {
    Real* const lanes = rows_ + k * A::reals();
    A::store(rows, lanes);
    std::uint64_t set = 0;
    for (std::int64_t slot = 0; slot < A::reals() / A::parts; ++slot) {
      const int row = int(lanes[slot * A::parts]);
      set |= std::uint64_t(1) << row;
      pivots[slot] = row + 1;
    }
    set &= ~(std::uint64_t(1) << k);
    std::memcpy(sets_ + k * std::int64_t(sizeof set), &set, sizeof set);
  }
  // Reads step k from pivots of the caller, which are in range.
  void get(std::int64_t k, const int* pivots) {
    Real* const lanes = rows_ + k * A::reals();
    for (std::int64_t lane = 0; lane < A::reals(); ++lane) lanes[lane] = Real(pivots[lane / A::parts] - 1);
    int same[hn::MaxLanes(D())];
    put(k, rows(k), same);
  }

 private:
  Real* rows_;
  char* sets_;
};

// Calls f(i, lanes) for each row of a step's set, with the mask of the problems that exchange it.
template <class A, class F>
HWY_INLINE void each_row(const Exchanges<A>& exchanges, std::int64_t k, F&& f) {
  const auto rows = exchanges.rows(k);
  for (std::uint64_t set = exchanges.set(k); set != 0; set &= set - 1) {
    const int i = std::countr_zero(set);
    f(std::int64_t(i), hn::Eq(rows, A::constant(i)));
  }
}

// Exchanges the rows of step k in the first columns of a.
template <class A, int Cols, class Matrix = LaneMatrix<typename A::Real>>
HWY_INLINE void exchange_few(const Exchanges<A>& exchanges, std::int64_t k, const Matrix& a) {
  typename A::V old[Cols], row[Cols];
#pragma GCC unroll 4
  for (int j = 0; j < Cols; ++j) old[j] = row[j] = A::load(a.at(k, j));
  each_row(exchanges, k, [&](std::int64_t i, auto lanes) HWY_ATTR {
    for (int j = 0; j < Cols; ++j) {
      const auto other = A::load(a.at(i, j));
      row[j] = hn::IfThenElse(lanes, other, row[j]);
      A::store(hn::IfThenElse(lanes, old[j], other), a.at(i, j));
    }
  });
#pragma GCC unroll 4
  for (int j = 0; j < Cols; ++j) A::store(row[j], a.at(k, j));
}

// Exchanges the rows of step k in columns [first, last).
template <class A, class Matrix = LaneMatrix<typename A::Real>>
void exchange(const Exchanges<A>& exchanges, std::int64_t k, const Matrix& a, std::int64_t first,
              std::int64_t last) {
  if (exchanges.set(k) == 0) return;
  for (std::int64_t j = first; j < last; j += 4)
    with_constant<4>(last - j,
                     [&](auto cols) HWY_ATTR { exchange_few<A, cols()>(exchanges, k, a.from(0, j)); });
}

// Steps of an elimination of m rows on the columns up to `last`, and on right sides that go along.
template <class A>
class Panel {
  using Real = typename A::Real;
  using V = typename A::V;
  using D = typename A::D;
  using Matrix = LaneMatrix<Real>;

 public:
  Panel(const Matrix& a, std::int64_t m, std::int64_t last, const Matrix& b, std::int64_t nrhs,
        Exchanges<A>& exchanges, Real* inverses)
      : a_(a), b_(b), m_(m), last_(last), nrhs_(nrhs), exchanges_(exchanges), inverses_(inverses) {}

  // Returns true if the inverse of a pivot overflowed in some problem: then columns were divided.
  HWY_INLINE bool step(std::int64_t k, int* pivots, V& info) {
    V largest = A::size(A::load(a_.at(k, k))), rows = A::constant(double(k));
    for (std::int64_t i = k + 1; i < m_; ++i) {
      const V size = A::size(A::load(a_.at(i, k)));
      const auto larger = hn::Gt(size, largest);
      largest = hn::IfThenElse(larger, size, largest);
      rows = hn::IfThenElse(larger, A::constant(double(i)), rows);
    }
    exchanges_.put(k, rows, pivots);
    const auto is_zero = hn::Eq(largest, A::zero());
    const auto first_zero = hn::And(is_zero, hn::Eq(info, A::zero()));
    info = hn::IfThenElse(first_zero, A::constant(double(k + 1)), info);
    const bool tiny = divide_column(k, largest, is_zero);
    update_columns(k, a_, k + 1, last_);
    update_columns(k, b_, 0, nrhs_);
    return tiny;
  }

 private:
  // Exchanges within column k and divides it by its pivot, where that is not zero.
  template <class Mask>
  HWY_INLINE bool divide_column(std::int64_t k, V largest, Mask is_zero) {
    exchange(exchanges_, k, a_, k, k + 1);
    const V pivot = A::load(a_.at(k, k));
    const bool tiny = A::has_tiny(largest);
    const V inverse = hn::IfThenElse(is_zero, A::zero(), A::divide(A::one(), pivot));
    A::store(inverse, inverses_ + k * A::reals());
    const auto left = A::left(inverse);
    for (std::int64_t i = k + 1; i < m_; ++i) {
      const V v = A::load(a_.at(i, k));
      const V quotient = HWY_UNLIKELY(tiny) ? hn::IfThenElse(is_zero, v, A::divide(v, pivot))
                                            : A::multiply(left, A::right(v));
      A::store(quotient, a_.at(i, k));
    }
    return tiny;
  }

  HWY_INLINE void update_columns(std::int64_t k, const Matrix& c, std::int64_t first, std::int64_t last) {
    for (std::int64_t j = first; j < last; j += 4)
      with_constant<4>(last - j, [&](auto cols) HWY_ATTR { update_few<cols()>(k, c.from(0, j)); });
  }

  // Exchanges rows of the first columns of c and subtracts the product with column k, in one pass.
  template <int Cols>
  HWY_INLINE void update_few(std::int64_t k, const Matrix& c) {
    V old[Cols], row[Cols];
    typename A::Right right[Cols];
#pragma GCC unroll 4
    for (int j = 0; j < Cols; ++j) old[j] = row[j] = A::load(c.at(k, j));
    each_row(exchanges_, k, [&](std::int64_t i, auto lanes) HWY_ATTR {
      for (int j = 0; j < Cols; ++j) row[j] = hn::IfThenElse(lanes, A::load(c.at(i, j)), row[j]);
    });
#pragma GCC unroll 4
    for (int j = 0; j < Cols; ++j) A::store(row[j], c.at(k, j)), right[j] = A::right(row[j]);
    const V rows = exchanges_.rows(k);
    for (std::int64_t i = k + 1; i < m_; ++i) {
      const auto lanes = hn::Eq(rows, A::constant(double(i)));
      const auto left = A::left(A::load(a_.at(i, k)));
#pragma GCC unroll 4
      for (int j = 0; j < Cols; ++j) {
        const V v = hn::IfThenElse(lanes, old[j], A::load(c.at(i, j)));
        A::store(A::subtract_product(v, left, right[j]), c.at(i, j));
      }
    }
  }

  Matrix a_, b_;
  std::int64_t m_, last_, nrhs_;
  Exchanges<A>& exchanges_;
  Real* inverses_;
};

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();
#endif
