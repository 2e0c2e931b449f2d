// Factorizations of very small matrices by one thread each, which passes between device memory and registers
// without shared memory: instructions, not bytes, bound matrices of two rows. Matrices that share vectors are
// moved and factored together, in the smallest numbers that fill vectors.
#pragma once

#include "kernel/factor_gpu/arithmetic.cuh"
#include "kernel/factor_gpu/config.hpp"
#include "kernel/factor_gpu/copy.cuh"

namespace tilewright {

// A matrix in registers; all rows and columns are named at compile time.
template <class T, FactorGpuShape S>
struct FactorGpuRegisters {
  using R = typename FactorGpuReal<T>::Type;
  static constexpr int n = S.n;

  T at[n][n];  // by rows
  int pivot[n];
  int info;

  __device__ __forceinline__ void exchange(int k, int p) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if (i <= k) continue;
      const bool is_pivot = i == p;
#pragma unroll
      for (int j = 0; j < n; ++j) {
        const T kept = at[k][j];
        at[k][j] = is_pivot ? at[i][j] : kept;
        at[i][j] = is_pivot ? kept : at[i][j];
      }
    }
  }
  __device__ __forceinline__ void lu_column(int k) {
    bool no_pivot = false;
    if constexpr (S.method == FactorGpuMethod::lu) {
      auto most = pivot_bits(at[k][k]);
      int p = k;
#pragma unroll
      for (int i = 0; i < n; ++i) {
        if (i <= k) continue;
        const auto bits = pivot_bits(at[i][k]);
        if (bits > most) most = bits, p = i;
      }
      no_pivot = most == 0;
      pivot[k] = p + 1;
      exchange(k, p);
    } else {
      no_pivot = is_zero(at[k][k]);
    }
    if (no_pivot && info == 0) info = k + 1;
    if (k == n - 1) return;
    const FactorGpuInverse<T> inverse(at[k][k]);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if (i <= k) continue;
      if (!no_pivot) at[i][k] = inverse.times(at[i][k]);
      const T negated = negative(at[i][k]);
#pragma unroll
      for (int j = 0; j < n; ++j)
        if (j > k) multiply_add(at[i][j], negated, at[k][j]);
    }
  }
  __device__ __forceinline__ void cholesky_column(int k) {
    const R d = real_part(at[k][k]);
    if (!(d > 0) && info == 0) info = k + 1;
    const R inverse = inverse_root(d);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if (i <= k) continue;
      const T factor = negative(times_real(times_real(at[i][k], inverse), inverse));
#pragma unroll
      for (int j = 0; j <= i; ++j)
        if (j > k) multiply_add(at[i][j], factor, conjugate_if<true>(at[j][k]));
    }
#pragma unroll
    for (int i = 0; i < n; ++i)
      if (i > k) at[i][k] = times_real(at[i][k], inverse);
    at[k][k] = from_real<T>(root_of(d, inverse));
  }
  __device__ __forceinline__ void factor() {
    info = 0;
#pragma unroll
    for (int k = 0; k < n; ++k) {
      if constexpr (S.method == FactorGpuMethod::cholesky)
        cholesky_column(k);
      else
        lu_column(k);
    }
  }
};

template <class T, FactorGpuShape S, FactorGpuConfig C>
struct FactorGpuDirect {
  static constexpr int n = S.n, size = int(sizeof(T)), threads = factor_gpu_threads(C);
  static constexpr int together = factor_gpu_together(S, size), elements = n * n;
  static constexpr bool is_run = S.a_pieces == FactorGpuPieces::run;
  static constexpr int vector = S.a_pieces == FactorGpuPieces::elements ? 1 : factor_gpu_vector_bytes / size;
  using Copies = FactorGpuCopies<T, factor_gpu_tile_a(S, size), S.a_place, S.a_pieces, threads, 1>;
  using Vector = Pack<T, vector>;

  FactorGpuRegisters<T, S> matrix[together];

  __device__ __forceinline__ T& element(int m, int line, int f) {
    return S.a_by_rows ? matrix[m].at[line][f] : matrix[m].at[f][line];
  }
  // Element e of a chunk of matrices that follow one another.
  __device__ __forceinline__ T& element(int e) { return element(e / elements, e % elements / n, e % n); }
  __device__ static constexpr bool is_written(int line, int f) {
    if (S.method != FactorGpuMethod::cholesky) return true;
    return S.a_by_rows ? f <= line : f >= line;
  }

  // Calls f(its first element's number in the chunk, its address) for all vectors of the chunk.
  template <class F>
  __device__ __forceinline__ void each_vector(const FactorGpuOperand<T>& x, long long first, F&& f) {
    T* const begin = is_run ? x.data + first * elements : Copies::matrix(x, first);
#pragma unroll
    for (int e = 0; e < together * elements; e += vector)
      f(e, is_run ? begin + e : begin + e / n * x.line + e % n * (vector > 1 ? 1 : x.element));
  }
  __device__ __forceinline__ void load(const FactorGpuOperand<T>& x, long long first, int here) {
    each_vector(x, first, [&](int e, const T* from) {
      if (here == together) {
        const Vector several = *reinterpret_cast<const Vector*>(from);
#pragma unroll
        for (int i = 0; i < vector; ++i) element(e + i) = several.item[i];
      } else {
#pragma unroll
        for (int i = 0; i < vector; ++i)
          element(e + i) = (e + i) / elements < here ? from[i] : from_real<T>(1);
      }
    });
  }
  __device__ __forceinline__ void store(const FactorGpuOperand<T>& x, long long first, int here) {
    each_vector(x, first, [&](int e, T* to) {
      bool is_whole = here == together;
#pragma unroll
      for (int i = 0; i < vector; ++i) is_whole = is_whole && is_written((e + i) / n % n, (e + i) % n);
      if (is_whole) {
        Vector several;
#pragma unroll
        for (int i = 0; i < vector; ++i) several.item[i] = element(e + i);
        *reinterpret_cast<Vector*>(to) = several;
      } else {
#pragma unroll
        for (int i = 0; i < vector; ++i)
          if ((e + i) / elements < here && is_written((e + i) / n % n, (e + i) % n)) to[i] = element(e + i);
      }
    });
  }

  // Stores `Each` integers of each matrix, which lie one behind the other, in as wide pieces as they fill if
  // their array begins with a whole vector.
  template <int Each, class F>
  __device__ __forceinline__ static void store_ints(int* all, long long first, int here, F&& value) {
    constexpr int count = Each * together, wide = count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1;
    int* const to = all + first * Each;
    if (here == together && reinterpret_cast<unsigned long long>(all) % (4 * wide) == 0) {
#pragma unroll
      for (int e = 0; e < count; e += wide) {
        Pack<int, wide> several;
#pragma unroll
        for (int i = 0; i < wide; ++i) several.item[i] = value((e + i) / Each, (e + i) % Each);
        *reinterpret_cast<Pack<int, wide>*>(to + e) = several;
      }
    } else {
#pragma unroll
      for (int e = 0; e < count; ++e)
        if (e / Each < here) to[e] = value(e / Each, e % Each);
    }
  }

  __device__ __forceinline__ void finish(const FactorGpuArgs<T>& args, long long first, int here) {
#pragma unroll
    for (int m = 0; m < together; ++m) matrix[m].factor();
    store(args.a, first, here);
    if constexpr (S.exchanges)
      store_ints<n>(args.pivots, first, here, [&](int m, int k) { return matrix[m].pivot[k]; });
    if (args.info == nullptr) return;
    if (args.info_step != 0) {
      store_ints<1>(args.info, first, here, [&](int m, int) { return matrix[m].info; });
      return;
    }
#pragma unroll
    for (int m = 0; m < together; ++m)
      if (m < here && matrix[m].info != 0) *args.info = matrix[m].info;
  }

  // Loads all of the thread's chunks before it works on one.
  __device__ __forceinline__ static void run(const FactorGpuArgs<T>& args) {
    constexpr int chunks = C.direct / together;
    FactorGpuDirect chunk[chunks];
    const long long tile = static_cast<long long>(blockIdx.x) * factor_gpu_matrices(C);
    const auto first = [&](int c) { return tile + (c * threads + static_cast<int>(threadIdx.x)) * together; };
    const auto here = [&](int c) {
      const long long left = args.count - first(c);
      return left < together ? static_cast<int>(left) : together;
    };
#pragma unroll
    for (int c = 0; c < chunks; ++c)
      if (here(c) > 0) chunk[c].load(args.a, first(c), here(c));
#pragma unroll
    for (int c = 0; c < chunks; ++c)
      if (here(c) > 0) chunk[c].finish(args, first(c), here(c));
  }
};

}  // namespace tilewright
