// The loops of small.hpp over register blocks, for one product of compile-time size: rows inside columns
// inside nothing else, since A and B are in L1. The form for op(A) = A; the other forms of A are copied into
// it first.
#pragma once

#include "tilewright/small/block.hpp"
#include "tilewright/small/config.hpp"

namespace tilewright::small {

template <class T, int M, int N, int K>
constexpr Shape shape_of() {
  using R = typename Number<T>::Real;
  return {static_cast<int>(sizeof(R)), M * Number<T>::parts, N, K, Number<T>::parts};
}

template <class T, int M, int N, int K, Config C, bool ConjB>
struct Kernel {
  using R = typename Number<T>::Real;
  static constexpr int rows = M * Number<T>::parts;
  static constexpr int lanes = C.vector_bytes / static_cast<int>(sizeof(R));
  static constexpr TailSlices tail = tail_slices(rows, lanes, C.tail);
  static constexpr int whole = rows / lanes;  // vectors of all lanes
  static constexpr int vectors = whole + tail.count;
  static constexpr int mr = C.mr < vectors ? C.mr : vectors;
  // Blocks of mr whole vectors; what follows them, tail included, is the last block.
  static constexpr int blocks = (std::min)(whole / mr, ceil_div(vectors, mr) - 1);
  static constexpr int unroll = C.k_unroll < K ? C.k_unroll : K;
  static constexpr int chains = C.k_chains < unroll ? C.k_chains : unroll;
  static constexpr bool left_fits = K * vectors + C.nr * mr * Number<T>::parts <= native_isa.registers - 2;
  static_assert(unroll == K || unroll % chains == 0, "every pass of the k loop begins with the first sum");

  template <int Index>
  using WholeRows = Rows<Index * lanes, lanes, lanes>;
  // Vector `index` of the last block, rows counted from the block's first. An overlapping one that is alone
  // there has rows of the block before.
  static constexpr Slice last_slice(int index) {
    constexpr int first = blocks * mr;
    if (first + index < whole) return {index * lanes, lanes, lanes, 0};
    Slice s = tail.slice[static_cast<std::size_t>(first + index - whole)];
    if (vectors - first == 1 && s.row < whole * lanes) s.skip = whole * lanes - s.row;
    s.row -= first * lanes;
    return s;
  }
  template <int Index>
  using LastRows =
      Rows<last_slice(Index).row, last_slice(Index).lanes, last_slice(Index).valid, last_slice(Index).skip>;

  // If all of A and a block of C fit the registers, the compiler sees through the loops and loads A once.
  // Elsewhere it must not: g++ would carry elements of A and B from block to block and from pass to pass
  // (predictive commoning) and write short loops out, and then has not the registers for it.
  static constexpr bool seen_through = left_fits && blocks == 0 && unroll == K;
  template <class X>
  static TILEWRIGHT_INLINE X hidden(X x) {
    if constexpr (seen_through)
      return x;
    else
      return opaque(x);
  }

  template <int Count, class F>
  static TILEWRIGHT_INLINE void for_count(F body) {
    if constexpr (Count > 0) {
      int left = Count > 1 ? hidden(Count) : 1;
      do body();
      while (--left != 0);
    }
  }

  template <class B, int NR>
  static TILEWRIGHT_INLINE void block(const R* a, const R* b, R* c, const Call<T>& call) {
    B sums;
    a = hidden(a);
    if constexpr (unroll == K) {
      sums.template steps<true>(a, b, call, Indices<unroll>{});
    } else {
      sums.clear();
      for_count<K / unroll>([&]() __attribute__((always_inline)) {
        sums.template steps<false>(a, b, call, Indices<unroll>{});
        a = hidden(a + unroll * call.a_step);
        b = hidden(b + unroll * call.b_step);
      });
      sums.template steps<false>(a, b, call, Indices<K % unroll>{});
    }
    sums.template finish<!seen_through>(c, call, Indices<NR>{});
  }
  template <int NR, int... At>
  static TILEWRIGHT_INLINE void whole_block(const R* a, const R* b, R* c, const Call<T>& call,
                                            IndexList<At...>) {
    block<Block<T, NR, chains, ConjB, WholeRows<At>...>, NR>(a, b, c, call);
  }
  template <int NR, int... At>
  static TILEWRIGHT_INLINE void last_block(const R* a, const R* b, R* c, const Call<T>& call,
                                           IndexList<At...>) {
    block<Block<T, NR, chains, ConjB, LastRows<At>...>, NR>(a, b, c, call);
  }

  // All rows of NR columns.
  template <int NR>
  static TILEWRIGHT_INLINE void columns(const R* b, R* c, const Call<T>& call) {
    const R* a = call.a;
    for_count<blocks>([&]() __attribute__((always_inline)) {
      whole_block<NR>(a, b, c, call, Indices<mr>{});
      a = hidden(a + mr * lanes);
      c = hidden(c + mr * lanes);
    });
    last_block<NR>(a, b, c, call, Indices<vectors - blocks * mr>{});
  }

  static TILEWRIGHT_INLINE void run(const Call<T>& call) {
    const R* b = call.b;
    R* c = call.c;
    for_count<N / C.nr>([&]() __attribute__((always_inline)) {
      columns<C.nr>(b, c, call);
      b = hidden(b + C.nr * call.b_column);
      c = hidden(c + C.nr * call.c_column);
    });
    if constexpr (N % C.nr != 0) columns<N % C.nr>(b, c, call);
  }
};

}  // namespace tilewright::small
