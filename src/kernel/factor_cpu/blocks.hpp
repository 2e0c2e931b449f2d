// Products and triangular solves of matrices of vectors, by blocks of C in registers. Included once per
// instruction set, hence without an ordinary include guard.
#if defined(TILEWRIGHT_FACTOR_BLOCKS) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWRIGHT_FACTOR_BLOCKS
#undef TILEWRIGHT_FACTOR_BLOCKS
#else
#define TILEWRIGHT_FACTOR_BLOCKS
#endif

#include <algorithm>
#include <type_traits>

#include "kernel/factor_cpu/kernel.hpp"
#include "kernel/factor_cpu/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

// Calls f with a compile-time constant for count, 1 to Most.
template <int Most, class F>
HWY_INLINE void with_constant(std::int64_t count, F&& f) {
  if constexpr (Most > 1)
    if (count < Most) return with_constant<Most - 1>(count, f);
  f(std::integral_constant<int, Most>());
}

// Calls f(i, j, rows, cols) for the blocks of an m x n matrix, columns of blocks first; rows and cols are
// constants.
template <class A, class F>
HWY_INLINE void each_block(std::int64_t m, std::int64_t n, F&& f) {
  for (std::int64_t j = 0; j < n; j += A::block)
    with_constant<A::block>(n - j, [&](auto cols) HWY_ATTR {
      for (std::int64_t i = 0; i < m; i += A::block)
        with_constant<A::block>(m - i, [&](auto rows) HWY_ATTR { f(i, j, rows, cols); });
    });
}

// A block of a matrix in registers.
template <class A, int Rows, int Cols>
struct LaneBlock {
  using V = typename A::V;
  using Matrix = LaneMatrix<typename A::Real>;
  V x[Rows][Cols];

  HWY_INLINE void load(const Matrix& from) {
#pragma GCC unroll 4
    for (int j = 0; j < Cols; ++j)
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) x[i][j] = A::load(from.at(i, j));
  }
  HWY_INLINE void clear() {
#pragma GCC unroll 4
    for (int j = 0; j < Cols; ++j)
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) x[i][j] = A::zero();
  }
  HWY_INLINE void store(const Matrix& to) const {
#pragma GCC unroll 4
    for (int j = 0; j < Cols; ++j)
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) A::store(x[i][j], to.at(i, j));
  }

  // -= L U, with L Rows x k and U k x Cols, each conjugated if asked.
  template <bool ConjL, bool ConjU>
  HWY_INLINE void subtract_product(const Matrix& l, const Matrix& u, std::int64_t k) {
    for (std::int64_t p = 0; p < k; ++p) {
      typename A::Left left[Rows];
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) {
        const V v = A::load(l.at(i, p));
        left[i] = A::left(ConjL ? A::conj(v) : v);
      }
#pragma GCC unroll 4
      for (int j = 0; j < Cols; ++j) {
        const V v = A::load(u.at(p, j));
        const auto right = A::right(ConjU ? A::conj(v) : v);
#pragma GCC unroll 4
        for (int i = 0; i < Rows; ++i) x[i][j] = A::subtract_product(x[i][j], left[i], right);
      }
    }
  }

  // X = inv(L) X with a lower triangle L of Rows x Rows. inverses: those of its diagonal, null if that is 1.
  template <bool Conj>
  HWY_INLINE void solve_left(const Matrix& l, const Matrix* inverses) {
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
      for (int k = 0; k < i; ++k) {
        const V v = A::load(l.at(i, k));
        const auto left = A::left(Conj ? A::conj(v) : v);
#pragma GCC unroll 4
        for (int j = 0; j < Cols; ++j) x[i][j] = A::subtract_product(x[i][j], left, A::right(x[k][j]));
      }
      if (inverses == nullptr) continue;
      const V v = A::load(inverses->at(i, 0));
      const auto inverse = A::left(Conj ? A::conj(v) : v);
#pragma GCC unroll 4
      for (int j = 0; j < Cols; ++j) x[i][j] = A::multiply(inverse, A::right(x[i][j]));
    }
  }

  // X = X inv(U) with an upper triangle U of Cols x Cols.
  template <bool Conj>
  HWY_INLINE void solve_right(const Matrix& u, const Matrix& inverses) {
#pragma GCC unroll 4
    for (int j = 0; j < Cols; ++j) {
#pragma GCC unroll 4
      for (int k = 0; k < j; ++k) {
        const V v = A::load(u.at(k, j));
        const auto right = A::right(Conj ? A::conj(v) : v);
#pragma GCC unroll 4
        for (int i = 0; i < Rows; ++i) x[i][j] = A::subtract_product(x[i][j], A::left(x[i][k]), right);
      }
      const V v = A::load(inverses.at(j, 0));
      const auto inverse = A::right(Conj ? A::conj(v) : v);
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) x[i][j] = A::multiply(A::left(x[i][j]), inverse);
    }
  }
};

// C -= L U for m x n C. `lower`: blocks above the diagonal of C are left out.
template <class A, bool ConjL, bool ConjU, class Matrix = LaneMatrix<typename A::Real>>
void subtract_product(const Matrix& l, const Matrix& u, std::int64_t k, const Matrix& c, std::int64_t m,
                      std::int64_t n, bool lower = false) {
  each_block<A>(m, n, [&](std::int64_t i, std::int64_t j, auto rows, auto cols) HWY_ATTR {
    if (lower && i < j) return;
    LaneBlock<A, rows(), cols()> block;
    block.load(c.from(i, j));
    block.template subtract_product<ConjL, ConjU>(l.from(i, 0), u.from(0, j), k);
    block.store(c.from(i, j));
  });
}

// The inverses of a diagonal, or that some cannot be formed without overflow and division must do.
template <class A>
class Inverses {
  using V = typename A::V;
  using Matrix = LaneMatrix<typename A::Real>;

 public:
  // `work` has place for n vectors.
  Inverses(const Matrix& t, std::int64_t n, typename A::Real* work) : at_{work, A::reals(), 0}, n_(n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const V d = A::load(t.at(i, i));
      tiny_ = tiny_ || A::has_tiny(A::size(d));
      A::store(A::divide(A::one(), d), at_.at(i, 0));
    }
  }
  Inverses(typename A::Real* inverses, std::int64_t n, bool tiny)
      : at_{inverses, A::reals(), 0}, n_(n), tiny_(tiny) {}

  bool needs_division() const { return tiny_; }
  const Matrix& at() const { return at_; }
  Inverses reversed() const {
    Inverses same = *this;
    same.at_ = at_.upside_down(n_);
    return same;
  }

 private:
  Matrix at_;
  std::int64_t n_;
  bool tiny_ = false;
};

// X = inv(L) X by division, an element at a time: for diagonals so small that their inverses overflow.
template <class A, bool Conj, class Matrix = LaneMatrix<typename A::Real>>
void solve_by_division(const Matrix& l, std::int64_t n, const Matrix& x, std::int64_t cols) {
  const auto element = [&](std::int64_t i, std::int64_t j) HWY_ATTR {
    const auto v = A::load(l.at(i, j));
    return Conj ? A::conj(v) : v;
  };
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      auto v = A::load(x.at(i, j));
      for (std::int64_t k = 0; k < i; ++k)
        v = A::subtract_product(v, A::left(element(i, k)), A::right(A::load(x.at(k, j))));
      A::store(A::divide(v, element(i, i)), x.at(i, j));
    }
}

// X = inv(L) X with a lower triangle of n x n; X is n x cols. inverses: null for a unit triangle.
template <class A, bool Conj, class Matrix = LaneMatrix<typename A::Real>>
void solve_lower(const Matrix& l, std::int64_t n, const Inverses<A>* inverses, const Matrix& x,
                 std::int64_t cols) {
  if constexpr (Conj && !A::is_complex) return solve_lower<A, false>(l, n, inverses, x, cols);
  if (inverses != nullptr && inverses->needs_division()) return solve_by_division<A, Conj>(l, n, x, cols);
  each_block<A>(n, cols, [&](std::int64_t i, std::int64_t j, auto rows, auto width) HWY_ATTR {
    LaneBlock<A, rows(), width()> block;
    block.load(x.from(i, j));
    block.template subtract_product<Conj, false>(l.from(i, 0), x.from(0, j), i);
    const Matrix of_rows = inverses != nullptr ? inverses->at().from(i, 0) : Matrix();
    block.template solve_left<Conj>(l.from(i, i), inverses != nullptr ? &of_rows : nullptr);
    block.store(x.from(i, j));
  });
}

// X = inv(U) X with an upper triangle: in reverse order it is a lower one.
template <class A, bool Conj, class Matrix = LaneMatrix<typename A::Real>>
void solve_upper(const Matrix& u, std::int64_t n, const Inverses<A>* inverses, const Matrix& x,
                 std::int64_t cols) {
  if (inverses == nullptr) return solve_lower<A, Conj>(u.reversed(n), n, inverses, x.upside_down(n), cols);
  const Inverses<A> reversed = inverses->reversed();
  solve_lower<A, Conj>(u.reversed(n), n, &reversed, x.upside_down(n), cols);
}

// These solves, which every factorization needs, are compiled with triangular.cpp alone. Real numbers have no
// conjugates.
#define TILEWRIGHT_FACTOR_SOLVE(T, CONJ)                                                         \
  template void solve_lower<LanesOf<T>, CONJ>(const LaneMatrix<LanesOf<T>::Real>&, std::int64_t, \
                                              const Inverses<LanesOf<T>>*,                       \
                                              const LaneMatrix<LanesOf<T>::Real>&, std::int64_t)
extern TILEWRIGHT_FACTOR_SOLVE(float, false);
extern TILEWRIGHT_FACTOR_SOLVE(double, false);
extern TILEWRIGHT_FACTOR_SOLVE(std::complex<float>, false);
extern TILEWRIGHT_FACTOR_SOLVE(std::complex<double>, false);
extern TILEWRIGHT_FACTOR_SOLVE(std::complex<float>, true);
extern TILEWRIGHT_FACTOR_SOLVE(std::complex<double>, true);

// X = the unit matrix of n x n.
template <class A, class Matrix = LaneMatrix<typename A::Real>>
void set_unit(const Matrix& x, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) A::store(i == j ? A::one() : A::zero(), x.at(i, j));
}

// Writes info of the problems of a vector, which all lanes of a problem hold.
template <class A>
void store_info(typename A::V info, int* to) {
  const typename A::D d;
  const std::int64_t slots = A::reals() / A::parts;
  if (HWY_LIKELY(hn::AllTrue(d, hn::Eq(info, A::zero())))) return std::fill_n(to, slots, 0), void();
  HWY_ALIGN typename A::Real lanes[hn::MaxLanes(typename A::D())];
  hn::Store(info, d, lanes);
  for (std::int64_t slot = 0; slot < slots; ++slot) to[slot] = int(lanes[slot * A::parts]);
}

// Returns LAPACK's info of a triangle that is inverted or solved with: the number of the first exact zero of
// its diagonal.
template <class A, class Matrix = LaneMatrix<typename A::Real>>
typename A::V first_zero(const Matrix& t, std::int64_t n) {
  auto info = A::zero();
  for (std::int64_t i = n - 1; i >= 0; --i)
    info = hn::IfThenElse(hn::Eq(A::size(A::load(t.at(i, i))), A::zero()), A::constant(double(i + 1)), info);
  return info;
}

// A matrix of a group by columns or by rows; neighbours lie `pitch` reals apart.
template <class A, class Matrix = LaneMatrix<typename A::Real>>
HWY_INLINE Matrix stored_matrix(void* data, std::int64_t rows, std::int64_t cols, std::int64_t pitch,
                                bool by_rows) {
  auto* const first = static_cast<typename A::Real*>(data);
  return by_rows ? Matrix{first, lane_line(cols) * pitch, pitch}
                 : Matrix{first, pitch, lane_line(rows) * pitch};
}

// Calls f(a, b, first slot) for each vector of a group: its part of A and of B.
template <class A, class F>
HWY_INLINE void each_vector(const LaneShape& shape, const LaneGroup& group, F&& f) {
  using Real = typename A::Real;
  using Matrix = LaneMatrix<Real>;
  const std::int64_t pitch = group.slots * A::parts, step = A::reals() / A::parts;
  const bool right = shape.side == Side::right;
  const std::int64_t b_rows = right ? shape.nrhs : shape.m, b_cols = right ? shape.n : shape.nrhs;
  Matrix a = stored_matrix<A>(group.a, shape.m, shape.n, pitch, group.a_by_rows);
  Matrix b = stored_matrix<A>(group.b, b_rows, makes_inverse(shape.routine) ? shape.n : b_cols, pitch,
                              group.b_by_rows);
  for (std::int64_t slot = 0; slot < group.slots; slot += step) {
    f(a, b, slot);
    a.data += step * A::parts;
    if (b.data != nullptr) b.data += step * A::parts;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();
#endif
