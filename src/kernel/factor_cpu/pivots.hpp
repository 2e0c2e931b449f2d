// Gaussian elimination with a pivot row of its own for each problem of a vector. Rows are exchanged under
// masks, and only those that some problem chose. Included once per instruction set, hence without an ordinary
// include guard.
#if defined(TILEWRIGHT_FACTOR_PIVOTS) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWRIGHT_FACTOR_PIVOTS
#undef TILEWRIGHT_FACTOR_PIVOTS
#else
#define TILEWRIGHT_FACTOR_PIVOTS
#endif

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernel/factor_cpu/blocks.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

// A set of rows: 0 to 63, and those behind.
struct RowSet {
  std::uint64_t low = 0, high = 0;

  HWY_INLINE void add(std::int64_t row) {
    const std::uint64_t bit = std::uint64_t(1) << (row % 64), is_high = std::uint64_t(row / 64);
    low |= bit & (is_high - 1), high |= bit & (0 - is_high);
  }
  HWY_INLINE void drop(std::int64_t row) { (row < 64 ? low : high) &= ~(std::uint64_t(1) << (row % 64)); }
  HWY_INLINE bool empty() const { return (low | high) == 0; }
  HWY_INLINE int take_first() {
    const int row = low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(high);
    high &= low != 0 ? high : high - 1;
    low &= low != 0 ? low - 1 : 0;
    return row;
  }
};
static_assert(sizeof(RowSet) == lane_row_set_bytes);

// The row exchanges of the steps of an elimination: step k exchanges rows k and rows(k), a number in every
// lane.
template <class A>
class Exchanges {
  using Real = typename A::Real;
  using V = typename A::V;
  using D = typename A::D;

 public:
  // Of an elimination of m rows in n steps; `work` has place for 2 n vectors.
  Exchanges(Real* work, std::int64_t m, std::int64_t n)
      : m_(m), rows_(work), sets_(reinterpret_cast<char*>(work + n * A::reals())) {}

  HWY_INLINE V rows(std::int64_t k) const { return A::load(rows_ + k * A::reals()); }
  // The set of rows other than k that some problem exchanges in step k.
  RowSet set(std::int64_t k) const {
    if (takes_all()) return {(std::uint64_t(1) << m_) - (std::uint64_t(2) << k), 0};
    RowSet set;
    std::memcpy(&set, sets_ + k * std::int64_t(sizeof set), sizeof set);
    return set;
  }
  // Records step k. pivots: null if nobody wants them.
  HWY_INLINE void put(std::int64_t k, V rows, int* pivots) {
    Real* const lanes = rows_ + k * A::reals();
    A::store(rows, lanes);
    if (takes_all() && pivots == nullptr) return;
    if constexpr (!A::is_complex) {
      if (pivots != nullptr) store_numbers(rows, pivots);
      if (takes_all()) return;
    }
    RowSet set;
    for (std::int64_t slot = 0; slot < A::reals() / A::parts; ++slot) {
      const int row = int(lanes[slot * A::parts]);
      set.add(row);
      if (A::is_complex && pivots != nullptr) pivots[slot] = row + 1;
    }
    set.drop(k);
    std::memcpy(sets_ + k * std::int64_t(sizeof set), &set, sizeof set);
  }
  // Reads step k from pivots of the caller, which are in range.
  void get(std::int64_t k, const int* pivots) {
    Real* const lanes = rows_ + k * A::reals();
    for (std::int64_t lane = 0; lane < A::reals(); ++lane) lanes[lane] = Real(pivots[lane / A::parts] - 1);
    put(k, rows(k), nullptr);
  }

 private:
  // Writes rows, counted from 1, as integers.
  static HWY_INLINE void store_numbers(V rows, int* pivots) {
    const hn::Rebind<int, D> integers;
    const V numbers = hn::Add(rows, A::constant(1));
    if constexpr (sizeof(Real) == sizeof(int))
      hn::StoreU(hn::ConvertTo(integers, numbers), integers, pivots);
    else
      hn::StoreU(hn::DemoteTo(integers, numbers), integers, pivots);
  }
  // A few rows are exchanged under masks faster than it is found out which ones are; where there are more
  // problems than rows, most rows are.
  HWY_INLINE bool takes_all() const { return m_ <= std::max<std::int64_t>(8, A::reals() / A::parts); }

  std::int64_t m_;
  Real* rows_;
  char* sets_;
};

// Calls f(i, lanes) for each row of a step's set, with the mask of the problems that exchange it.
template <class A, class F>
HWY_INLINE void each_row(const Exchanges<A>& exchanges, std::int64_t k, F&& f) {
  const auto rows = exchanges.rows(k);
  for (RowSet set = exchanges.set(k); !set.empty();) {
    const int i = set.take_first();
    f(std::int64_t(i), hn::Eq(rows, A::constant(i)));
  }
}

// Exchanges the rows of step k in the first columns of a.
template <class A, int Cols, class Matrix = LaneMatrix<typename A::Real>>
HWY_INLINE void exchange_few(const Exchanges<A>& exchanges, std::int64_t k, const Matrix& a) {
  typename A::V old[Cols], row[Cols];
#pragma GCC unroll 8
  for (int j = 0; j < Cols; ++j) old[j] = row[j] = A::load(a.at(k, j));
  each_row(exchanges, k, [&](std::int64_t i, auto lanes) HWY_ATTR {
    for (int j = 0; j < Cols; ++j) {
      const auto other = A::load(a.at(i, j));
      row[j] = hn::IfThenElse(lanes, other, row[j]);
      A::store(hn::IfThenElse(lanes, old[j], other), a.at(i, j));
    }
  });
#pragma GCC unroll 8
  for (int j = 0; j < Cols; ++j) A::store(row[j], a.at(k, j));
}

// Exchanges the rows of step k in columns [first, last).
template <class A, class Matrix = LaneMatrix<typename A::Real>>
void exchange(const Exchanges<A>& exchanges, std::int64_t k, const Matrix& a, std::int64_t first,
              std::int64_t last) {
  if (exchanges.set(k).empty()) return;
  constexpr int most = A::is_emulated ? 1 : HWY_TARGET == HWY_AVX3 ? 8 : 4;
  for (std::int64_t j = first; j < last; j += most)
    with_constant<most>(last - j,
                        [&](auto cols) HWY_ATTR { exchange_few<A, cols()>(exchanges, k, a.from(0, j)); });
}

// The largest of some elements and its row. Of equal ones the first counts, as for LAPACK's IxAMAX.
template <class A>
struct Largest {
  typename A::V size, row;

  HWY_INLINE void take(const Largest& later) {
    const auto larger = hn::Gt(later.size, size);
    size = hn::IfThenElse(larger, later.size, size);
    row = hn::IfThenElse(larger, later.row, row);
  }
  // Of x[0] to x[Count - 1], whose rows are counted from First, compared in pairs so that few wait for one
  // another.
  template <int First, int Count>
  static HWY_INLINE Largest of(const typename A::V* x) {
    if constexpr (Count == 1) {
      return {A::size(x[0]), A::constant(First)};
    } else {
      constexpr int half = (Count + 1) / 2;
      Largest largest = of<First, half>(x);
      largest.take(of<First + half, Count - half>(x + half));
      return largest;
    }
  }
};

// Steps of an elimination of m rows on the columns up to `last`, and on right sides that go along.
template <class A>
class Panel {
  using Real = typename A::Real;
  using V = typename A::V;
  using Matrix = LaneMatrix<Real>;
  // Rows whose factors and masks are kept while columns pass, and columns that a step takes at a time.
  static constexpr int chunk = A::is_emulated ? 1 : HWY_TARGET == HWY_AVX3 && !A::is_complex ? 16 : 8;
  static constexpr int columns = A::is_emulated ? 1 : 8;

 public:
  Panel(const Matrix& a, std::int64_t m, std::int64_t last, const Matrix& b, std::int64_t nrhs,
        Exchanges<A>& exchanges, Real* inverses)
      : a_(a), b_(b), m_(m), last_(last), nrhs_(nrhs), exchanges_(exchanges), inverses_(inverses) {}

  // Returns true if the inverse of a pivot overflowed in some problem: then columns were divided.
  HWY_INLINE bool step(std::int64_t k, int* pivots, V& info) {
    bool tiny = false;
    if (m_ - k <= chunk)
      with_constant<chunk>(m_ - k, [&](auto rows) HWY_ATTR { tiny = last_step<rows()>(k, pivots, info); });
    else
      tiny = any_step(k, pivots, info);
    return tiny;
  }

 private:
  // The pivot's inverse, 0 for an exact zero, which info records.
  template <class Mask>
  HWY_INLINE V invert_pivot(std::int64_t k, V pivot, Mask is_zero, V& info) {
    V inverse = A::divide(A::one(), pivot);
    if (HWY_UNLIKELY(!hn::AllFalse(typename A::D(), is_zero))) {
      info = hn::IfThenElse(hn::And(is_zero, hn::Eq(info, A::zero())), A::constant(double(k + 1)), info);
      inverse = hn::IfThenElse(is_zero, A::zero(), inverse);
    }
    A::store(inverse, inverses_ + k * A::reals());
    return inverse;
  }

  // Step k with Rows rows left, whose elements of a column are all in registers.
  template <int Rows>
  HWY_INLINE bool last_step(std::int64_t k, int* pivots, V& info) {
    V x[Rows];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) x[i] = A::load(a_.at(k + i, k));
    const Largest<A> largest = Largest<A>::template of<0, Rows>(x);
    exchanges_.put(k, hn::Add(largest.row, A::constant(double(k))), pivots);
    decltype(hn::Eq(info, info)) lanes[Rows];
    V pivot = x[0];
#pragma GCC unroll 16
    for (int i = 1; i < Rows; ++i) {
      lanes[i] = hn::Eq(largest.row, A::constant(i));
      pivot = hn::IfThenElse(lanes[i], x[i], pivot);
      x[i] = hn::IfThenElse(lanes[i], x[0], x[i]);
    }
    A::store(pivot, a_.at(k, k));
    const auto is_zero = hn::Eq(largest.size, A::zero());
    const bool tiny = A::has_tiny(largest.size);
    const auto inverse = A::right(invert_pivot(k, pivot, is_zero, info));
    typename A::Left left[Rows];
#pragma GCC unroll 16
    for (int i = 1; i < Rows; ++i) {
      x[i] = HWY_UNLIKELY(tiny) ? hn::IfThenElse(is_zero, x[i], A::divide(x[i], pivot))
                                : A::multiply(A::left(x[i]), inverse);
      A::store(x[i], a_.at(k + i, k));
      left[i] = A::left(x[i]);
    }
    if constexpr (Rows > 1) {
      update_below<Rows>(left, lanes, a_.from(k, k + 1), last_ - k - 1);
      update_below<Rows>(left, lanes, b_.from(k, 0), nrhs_);
    }
    return tiny;
  }

  // Exchanges rows of c and subtracts the product with column k, a column after the other.
  template <int Rows, class Mask>
  HWY_INLINE void update_below(const typename A::Left (&left)[Rows], const Mask (&lanes)[Rows],
                               const Matrix& c, std::int64_t cols) {
    for (std::int64_t j = 0; j < cols; ++j) {
      V x[Rows];
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) x[i] = A::load(c.at(i, j));
      V row = x[0];
#pragma GCC unroll 16
      for (int i = 1; i < Rows; ++i) {
        row = hn::IfThenElse(lanes[i], x[i], row);
        x[i] = hn::IfThenElse(lanes[i], x[0], x[i]);
      }
      A::store(row, c.at(0, j));
      const auto right = A::right(row);
#pragma GCC unroll 16
      for (int i = 1; i < Rows; ++i) A::store(A::subtract_product(x[i], left[i], right), c.at(i, j));
    }
  }

  // Step k with any number of rows.
  HWY_INLINE bool any_step(std::int64_t k, int* pivots, V& info) {
    Largest<A> largest{A::size(A::load(a_.at(k, k))), A::constant(double(k))};
    for (std::int64_t i = k + 1; i < m_; i += chunk)
      with_constant<chunk>(m_ - i, [&](auto rows) HWY_ATTR { take_rows<rows()>(k, i, largest); });
    exchanges_.put(k, largest.row, pivots);
    const bool tiny = divide_column(k, largest.size, info);
    update_columns(k, a_, k + 1, last_);
    update_columns(k, b_, 0, nrhs_);
    return tiny;
  }
  template <int Rows>
  HWY_INLINE void take_rows(std::int64_t k, std::int64_t first, Largest<A>& largest) {
    V x[Rows];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) x[i] = A::load(a_.at(first + i, k));
    Largest<A> next = Largest<A>::template of<0, Rows>(x);
    next.row = hn::Add(next.row, A::constant(double(first)));
    largest.take(next);
  }

  // Exchanges within column k and divides it by its pivot, where that is not zero.
  HWY_INLINE bool divide_column(std::int64_t k, V largest, V& info) {
    exchange(exchanges_, k, a_, k, k + 1);
    const auto is_zero = hn::Eq(largest, A::zero());
    const V pivot = A::load(a_.at(k, k));
    const bool tiny = A::has_tiny(largest);
    const auto left = A::left(invert_pivot(k, pivot, is_zero, info));
    for (std::int64_t i = k + 1; i < m_; ++i) {
      const V v = A::load(a_.at(i, k));
      const V quotient = HWY_UNLIKELY(tiny) ? hn::IfThenElse(is_zero, v, A::divide(v, pivot))
                                            : A::multiply(left, A::right(v));
      A::store(quotient, a_.at(i, k));
    }
    return tiny;
  }

  // Exchanges rows of c and subtracts the product with column k, some columns at a time.
  void update_columns(std::int64_t k, const Matrix& c, std::int64_t first, std::int64_t last) {
    for (std::int64_t j = first; j < last; j += columns)
      with_constant<columns>(last - j, [&](auto cols) HWY_ATTR { update_few<cols()>(k, c.from(0, j)); });
  }
  template <int Cols>
  HWY_INLINE void update_few(std::int64_t k, const Matrix& c) {
    V old[Cols], row[Cols];
#pragma GCC unroll 16
    for (int j = 0; j < Cols; ++j) old[j] = row[j] = A::load(c.at(k, j));
    each_row(exchanges_, k, [&](std::int64_t i, auto lanes) HWY_ATTR {
      for (int j = 0; j < Cols; ++j) row[j] = hn::IfThenElse(lanes, A::load(c.at(i, j)), row[j]);
    });
#pragma GCC unroll 16
    for (int j = 0; j < Cols; ++j) A::store(row[j], c.at(k, j));
    update_rows(k, c, Cols, old, row);
  }
  void update_rows(std::int64_t k, const Matrix& c, int cols, const V* old, const V* row) {
    for (std::int64_t i = k + 1; i < m_; i += chunk)
      with_constant<chunk>(m_ - i,
                           [&](auto rows) HWY_ATTR { update_chunk<rows()>(k, i, c, cols, old, row); });
  }

  template <int Rows>
  HWY_INLINE void update_chunk(std::int64_t k, std::int64_t first, const Matrix& c, int cols, const V* old,
                               const V* row) {
    const V row_of = exchanges_.rows(k);
    typename A::Left left[Rows];
    decltype(hn::Eq(row_of, row_of)) lanes[Rows];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      left[i] = A::left(A::load(a_.at(first + i, k)));
      lanes[i] = hn::Eq(row_of, A::constant(double(first + i)));
    }
    for (int j = 0; j < cols; ++j) {
      const auto right = A::right(row[j]);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        const V v = hn::IfThenElse(lanes[i], old[j], A::load(c.at(first + i, j)));
        A::store(A::subtract_product(v, left[i], right), c.at(first + i, j));
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
