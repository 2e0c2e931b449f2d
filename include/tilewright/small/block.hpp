// The register block of small.hpp: some vectors of rows times some columns of C, summed over k in registers
// and merged into C once. Complex numbers are pairs of reals in it: a column holds the sums of A times the
// real and times the imaginary part of B, which are joined at the end. It does not loop over blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>

#include "tilewright/small/vector.hpp"

namespace tilewright::small {

template <class T>
struct Number {
  using Real = T;
  static constexpr int parts = 1;
};
template <class R>
struct Number<std::complex<R>> {
  using Real = R;
  static constexpr int parts = 2;
};

// The properties of the call that a block depends on, in units of reals.
template <class T>
struct Call {
  using R = typename Number<T>::Real;
  const R* a;
  std::int64_t a_step;  // from one k to the next
  const R* b;
  std::int64_t b_step;    // from one k to the next
  std::int64_t b_column;  // from one column of C to the next
  R* c;
  std::int64_t c_column;
  T alpha;
  T beta;
};

// A Slice as a type.
template <int Row, int Lanes, int Valid, int Skip = 0>
struct Rows {
  static constexpr int row = Row, lanes = Lanes, valid = Valid, skip = Skip;
};

template <class R, int... At>
TILEWRIGHT_INLINE Vector<R, sizeof...(At)> pair_lanes(R even, R odd, IndexList<At...>) {
  return Vector<R, sizeof...(At)>{(At % 2 == 0 ? even : odd)...};
}
// even, odd, even, odd, ...
template <int Lanes, class R>
TILEWRIGHT_INLINE Vector<R, Lanes> pairs(R even, R odd) {
  return pair_lanes<R>(even, odd, Indices<Lanes>{});
}

// factor * v; complex lanes lie as re, im, re, im: (x + iy)(re + i im) = x (re, im) + y (-im, re).
template <class T, int Lanes, class V>
TILEWRIGHT_INLINE V scale(T factor, V v) {
  if constexpr (Number<T>::parts == 1)
    return factor * v;
  else
    return factor.real() * v + pairs<Lanes>(-factor.imag(), factor.imag()) * permute<SwappedPairs, Lanes>(v);
}
// s + beta * v
template <class T, int Lanes, class V>
TILEWRIGHT_INLINE V plus_scaled(V s, T beta, V v) {
  if constexpr (Number<T>::parts == 2)
    if (beta == T(1)) return s + v;
  return s + scale<T, Lanes>(beta, v);
}

// The sums of one vector of rows in NR columns.
template <class T, class P, int NR, int Chains, bool ConjB>
struct Sums {
  using R = typename Number<T>::Real;
  using V = Vector<R, P::lanes>;
  static constexpr int parts = Number<T>::parts;

  // True if C is accessed in vectors as wide as these, masked where more than two narrower ones would be
  // needed.
  static constexpr bool updated_masked =
      P::skip == 0 && P::lanes != P::valid && std::popcount(unsigned(P::valid)) > 2;
  static constexpr bool updated_whole = P::skip == 0 && (P::lanes == P::valid || updated_masked);

  V left;  // A(rows, k)
  V sum[std::size_t(Chains)][std::size_t(NR * parts)];

  TILEWRIGHT_INLINE void load_a(const R* p) { left = load<R, P::lanes, P::valid>(p + P::row); }

  TILEWRIGHT_INLINE void clear() { clear(Indices<Chains * NR * parts>{}); }
  // Without a loop, which g++ would turn into a memset() of an object that it could have kept in registers.
  template <int... At>
  TILEWRIGHT_INLINE void clear(IndexList<At...>) {
    ((sum[At / (NR * parts)][At % (NR * parts)] = V{}), ...);
  }
  template <int Chain, int J, bool Start>
  TILEWRIGHT_INLINE void add(V b) {
    if constexpr (Start)
      sum[Chain][J] = left * b;
    else
      sum[Chain][J] = left * b + sum[Chain][J];
  }

  // alpha * (A B)(:, J). By value: g++ keeps sums that are written once more in memory too.
  template <int J>
  TILEWRIGHT_INLINE V total(T alpha) const {
    V s = joined<J * parts>();
    if constexpr (parts == 2)
      s += pairs<P::lanes>(R(ConjB ? 1 : -1), R(ConjB ? -1 : 1)) *
           permute<SwappedPairs, P::lanes>(joined<J * parts + 1>());
    if (parts == 1 || alpha != T(1)) s = scale<T, P::lanes>(alpha, s);
    return s;
  }
  template <int Column>
  TILEWRIGHT_INLINE V joined() const {
    V s = sum[0][Column];
    for (int chain = 1; chain < Chains; ++chain) s += sum[chain][Column];
    return s;
  }
  static TILEWRIGHT_INLINE void put(R* c, V v) { store<R, P::lanes, P::valid>(c + P::row, v); }

  // total() + beta * C(:, J), of which put_update() adds the latter where C is met in parts.
  template <int J>
  TILEWRIGHT_INLINE V updated(T alpha, T beta, const R* c) const {
    if constexpr (updated_whole)
      return plus_scaled<T, P::lanes>(total<J>(alpha), beta, load<R, P::lanes, P::valid>(c + P::row));
    else
      return total<J>(alpha);
  }
  // Partial vectors meet C in whole narrower ones: a partial load cannot be served by the stores before it,
  // and waits. So do vectors with rows that another block has updated, which must not be updated again.
  static TILEWRIGHT_INLINE void put_update(T beta, R* c, V v) {
    if constexpr (updated_whole)
      put(c, v);
    else
      put_parts<P::skip>(beta, c + P::row, v);
  }
  // Masked updates of all columns, all loads before the stores: a load waits for a masked store before it
  // even where it meets only lanes that this leaves alone.
  template <int... J>
  TILEWRIGHT_INLINE void update_all(T alpha, T beta, R* c, std::int64_t column, IndexList<J...> all) const {
    put_all(c, column, all, updated<J>(alpha, beta, c + J * column)...);
  }
  template <int... J, class... Value>
  static TILEWRIGHT_INLINE void put_all(R* c, std::int64_t column, IndexList<J...>, Value... v) {
    (put(c + J * column, v), ...);
  }
  template <int First>
  static TILEWRIGHT_INLINE void put_parts(T beta, R* c, V v) {
    if constexpr (First < P::valid) {
      constexpr int lanes = floor_pow2(P::valid - First);
      const auto s = sub<R, P::lanes, First, lanes>(v);
      store<R, lanes>(c + First, plus_scaled<T, lanes>(s, beta, load<R, lanes>(c + First)));
      put_parts<First + lanes>(beta, c, v);
    }
  }
};

// NR columns of the rows in P..., one Sums for each vector of rows.
template <class T, int NR, int Chains, bool ConjB, class... P>
struct Block : Sums<T, P, NR, Chains, ConjB>... {
  using R = typename Number<T>::Real;
  static constexpr int parts = Number<T>::parts;
  static constexpr int widest = (std::max)({P::lanes...});
  template <class Q>
  using Of = Sums<T, Q, NR, Chains, ConjB>;

  TILEWRIGHT_INLINE void clear() { (Of<P>::clear(), ...); }

  // sums(:, J) += a b, or = a b to start with
  template <int Chain, bool Start, int J>
  TILEWRIGHT_INLINE void multiply(R b) {
    const auto wide = splat<R, widest, (sizeof...(P) > 1)>(b);
    (Of<P>::template add<Chain, J, Start>(sub<R, widest, 0, P::lanes>(wide)), ...);
  }
  template <int Chain, bool Start, int... J>
  TILEWRIGHT_INLINE void step(const R* a, const R* b, std::int64_t b_column, IndexList<J...>) {
    (Of<P>::load_a(a), ...);
    (multiply<Chain, Start, J>(b[J / parts * b_column + J % parts]), ...);
  }
  template <bool Start, int... U>
  TILEWRIGHT_INLINE void steps([[maybe_unused]] const R* a, [[maybe_unused]] const R* b, const Call<T>& call,
                               IndexList<U...>) {
    (step < U % Chains,
     Start && (U < Chains) > (a + U * call.a_step, b + U * call.b_step, call.b_column, Indices<NR * parts>{}),
     ...);
  }

  template <int J>
  TILEWRIGHT_INLINE void put_column(T alpha, R* c) const {
    (Of<P>::put(c, Of<P>::template total<J>(alpha)), ...);
  }
  // All loads of a column come before its stores: overlapping rows must be read only once.
  template <int J>
  TILEWRIGHT_INLINE void update_column(T alpha, T beta, R* c) const {
    put_updates(beta, c, Of<P>::template updated<J>(alpha, beta, c)...);
  }
  template <class... V>
  static TILEWRIGHT_INLINE void put_updates(T beta, R* c, V... v) {
    (Of<P>::put_update(beta, c, v), ...);
  }

  // C = alpha * sums + beta * C. Stepping: addresses are formed anew for each column; as distances from the
  // first one they would be three bytes longer in every instruction.
  template <bool Stepping, int... J>
  TILEWRIGHT_INLINE void finish(R* c, const Call<T>& call, IndexList<J...>) const {
    constexpr bool at_once = sizeof...(P) == 1 && (Of<P>::updated_masked && ...);
    if (call.beta == T(0)) {
      ((put_column<J>(call.alpha, c), c = next_column<(Stepping && J + 1 < sizeof...(J))>(c, call)), ...);
    } else if constexpr (at_once) {
      (Of<P>::update_all(call.alpha, call.beta, c, call.c_column, Indices<sizeof...(J)>{}), ...);
    } else {
      ((update_column<J>(call.alpha, call.beta, c),
        c = next_column<(Stepping && J + 1 < sizeof...(J))>(c, call)),
       ...);
    }
  }
  template <bool Stepping>
  static TILEWRIGHT_INLINE R* next_column(R* c, const Call<T>& call) {
    c += call.c_column;
    return Stepping ? opaque(c) : c;
  }
};

}  // namespace tilewright::small
