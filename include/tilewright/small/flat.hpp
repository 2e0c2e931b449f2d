// Packed N x N matrices so small that several columns, or several whole problems of a batch, share one
// vector: C is summed as a run of lanes, against repeated columns of A and spread elements of B. Real types,
// powers of two only.
#pragma once

#include "tilewright/small/block.hpp"

namespace tilewright::small {

// Lane l of the vectors holds element l % N of column l / N; problems follow each other every N * N lanes.
template <int N, int K>
struct ColumnOfEach {  // column K of the A of each lane's problem
  constexpr int operator()(int lane) const { return lane / (N * N) * (N * N) + K * N + lane % N; }
};
template <int N, int K>
struct RowOfEach {  // row K of each lane's column of B
  constexpr int operator()(int lane) const { return lane / N * N + K; }
};

template <class T, int N, int Lanes>
struct Flat {
  static_assert(Lanes % (N * N) == 0, "whole problems share a vector");
  static constexpr int problems = Lanes / (N * N);
  using V = Vector<T, Lanes>;

  template <int... K>
  static TILEWRIGHT_INLINE V product(V left, V right, IndexList<0, K...>) {
    V sum = permute<ColumnOfEach<N, 0>, Lanes>(left) * permute<RowOfEach<N, 0>, Lanes>(right);
    ((sum = permute<ColumnOfEach<N, K>, Lanes>(left) * permute<RowOfEach<N, K>, Lanes>(right) + sum), ...);
    return sum;
  }

  // `problems` consecutive problems.
  static TILEWRIGHT_INLINE void run(T alpha, const T* a, const T* b, T beta, T* c) {
    V sum = product(load<T, Lanes>(a), load<T, Lanes>(b), Indices<N>{});
    sum = alpha * sum;
    if (beta != T(0)) sum = plus_scaled<T, Lanes>(sum, beta, load<T, Lanes>(c));
    store<T, Lanes>(c, sum);
  }
};

}  // namespace tilewright::small
