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
struct ColumnRepeated {  // column K of one A, K counted within a vector of whole columns
  constexpr int operator()(int lane) const { return K * N + lane % N; }
};
template <int N, int K>
struct RowOfEach {  // row K of each lane's column of B
  constexpr int operator()(int lane) const { return lane / N * N + K; }
};

template <class T, int N, int Lanes>
struct Flat {
  static constexpr int elements = N * N;
  static constexpr int problems = Lanes > elements ? Lanes / elements : 1;
  static constexpr int vectors = Lanes > elements ? 1 : elements / Lanes;
  using V = Vector<T, Lanes>;

  template <int K>
  static TILEWRIGHT_INLINE V left(const T* a) {
    constexpr int columns =
        Lanes / N;  // of A in one vector: loaded once and permuted, not loaded again for each column
    if constexpr (problems == 1)
      return permute<ColumnRepeated<N, K % columns>, Lanes>(load<T, Lanes>(a + K / columns * Lanes));
    else
      return permute<ColumnOfEach<N, K>, Lanes>(load<T, Lanes>(a));
  }
  template <int... K>
  static TILEWRIGHT_INLINE V product(const T* a, const T* b, IndexList<0, K...>) {
    const V right = load<T, Lanes>(b);
    V sum = left<0>(a) * permute<RowOfEach<N, 0>, Lanes>(right);
    ((sum = left<K>(a) * permute<RowOfEach<N, K>, Lanes>(right) + sum), ...);
    return sum;
  }
  static TILEWRIGHT_INLINE void vector(T alpha, const T* a, const T* b, T beta, T* c) {
    V sum = product(a, b, Indices<N>{});
    if (alpha != T(1)) sum = alpha * sum;
    if (beta != T(0)) sum = plus_scaled<T, Lanes>(sum, beta, load<T, Lanes>(c));
    store<T, Lanes>(c, sum);
  }

  // `problems` consecutive problems.
  static TILEWRIGHT_INLINE void run(T alpha, const T* a, const T* b, T beta, T* c) {
    run_vectors(alpha, a, b, beta, c, Indices<vectors>{});
  }
  template <int... V_>
  static TILEWRIGHT_INLINE void run_vectors(T alpha, const T* a, const T* b, T beta, T* c, IndexList<V_...>) {
    (vector(alpha, a, b + V_ * Lanes, beta, c + V_ * Lanes), ...);
  }
};

}  // namespace tilewright::small
