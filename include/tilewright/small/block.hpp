// The register block of small.hpp: some vectors of rows times some columns of C, summed over k in registers
// and merged into C once. Complex numbers are pairs of reals in it: a column holds the sums of A times the
// real and times the imaginary part of B, which are joined at the end. It does not loop over blocks.
#pragma once

#include <algorithm>
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

// What a block needs to know of the call, in units of reals.
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

template <int Row, int Lanes, int Valid>
struct Rows {
  static constexpr int row = Row, lanes = Lanes, valid = Valid;
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
  if (beta == T(1)) return s + v;
  return s + scale<T, Lanes>(beta, v);
}

// The sums of one vector of rows in NR columns.
template <class T, class P, int NR, int Chains, bool ConjB>
struct Sums {
  using R = typename Number<T>::Real;
  using V = Vector<R, P::lanes>;
  static constexpr int parts = Number<T>::parts;

  V left;  // A(rows, k)
  V sum[std::size_t(Chains)][std::size_t(NR * parts)];

  TILEWRIGHT_INLINE void load_a(const R* p) { left = load<R, P::lanes, P::valid>(p + P::row); }

  TILEWRIGHT_INLINE void clear() {
    for (auto& chain : sum)
      for (V& s : chain) s = V{};
  }
  template <int Chain, int J, bool Start>
  TILEWRIGHT_INLINE void add(V b) {
    if constexpr (Start)
      sum[Chain][J] = left * b;
    else
      sum[Chain][J] = left * b + sum[Chain][J];
  }

  template <int J>
  TILEWRIGHT_INLINE V& joined() {
    return sum[0][J * parts];
  }
  // joined() = alpha * (A B)(:, J).
  template <int J>
  TILEWRIGHT_INLINE void join(T alpha) {
    for (int chain = 1; chain < Chains; ++chain)
      for (int part = 0; part < parts; ++part) sum[0][J * parts + part] += sum[chain][J * parts + part];
    if constexpr (parts == 2)
      joined<J>() += pairs<P::lanes>(R(ConjB ? 1 : -1), R(ConjB ? -1 : 1)) *
                     permute<SwappedPairs, P::lanes>(sum[0][J * parts + 1]);
    if (alpha != T(1)) joined<J>() = scale<T, P::lanes>(alpha, joined<J>());
  }
  // joined() += beta * C(:, J), unless put_update() does it.
  template <int J>
  TILEWRIGHT_INLINE void add_c(T beta, const R* c) {
    if constexpr (P::lanes == P::valid)
      joined<J>() = plus_scaled<T, P::lanes>(joined<J>(), beta, load<R, P::lanes>(c + P::row));
  }
  template <int J>
  TILEWRIGHT_INLINE void put(R* c) {
    store<R, P::lanes, P::valid>(c + P::row, joined<J>());
  }
  // Partial vectors meet C in whole narrower ones: a partial load cannot be served by the stores before it,
  // and waits.
  template <int J>
  TILEWRIGHT_INLINE void put_update(T beta, R* c) {
    if constexpr (P::lanes == P::valid)
      put<J>(c);
    else
      put_parts<J, 0>(beta, c + P::row);
  }
  template <int J, int First>
  TILEWRIGHT_INLINE void put_parts(T beta, R* c) {
    if constexpr (First < P::valid) {
      constexpr int lanes = floor_pow2(P::valid - First);
      const auto s = sub<R, P::lanes, First, lanes>(joined<J>());
      store<R, lanes>(c + First, plus_scaled<T, lanes>(s, beta, load<R, lanes>(c + First)));
      put_parts<J, First + lanes>(beta, c);
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
  TILEWRIGHT_INLINE void join(T alpha) {
    (Of<P>::template join<J>(alpha), ...);
  }
  template <int J>
  TILEWRIGHT_INLINE void add_c(T beta, const R* c) {
    (Of<P>::template add_c<J>(beta, c), ...);
  }
  template <int J>
  TILEWRIGHT_INLINE void put(R* c) {
    (Of<P>::template put<J>(c), ...);
  }
  template <int J>
  TILEWRIGHT_INLINE void put_update(T beta, R* c) {
    (Of<P>::template put_update<J>(beta, c), ...);
  }
  // C = alpha * sums + beta * C. All loads of C come before its stores: overlapping rows must be read only
  // once.
  template <int... J>
  TILEWRIGHT_INLINE void finish(R* c, const Call<T>& call, IndexList<J...>) {
    (join<J>(call.alpha), ...);
    if (call.beta == T(0)) {
      (put<J>(c + J * call.c_column), ...);
    } else {
      (add_c<J>(call.beta, c + J * call.c_column), ...);
      (put_update<J>(call.beta, c + J * call.c_column), ...);
    }
  }
};

}  // namespace tilewright::small
