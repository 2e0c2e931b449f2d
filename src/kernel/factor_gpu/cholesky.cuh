// A = L L^H of a matrix by a group of lanes. Column k of L lies at k * pitch in shared memory; the columns
// pass there as they are before their division by the root, which each lane makes up for one step later, when
// nobody reads them any more: one meeting of the lanes a column.
#pragma once

#include "kernel/factor_gpu/rows.cuh"

namespace tilewright {

template <class T, FactorGpuShape S, FactorGpuConfig C>
struct FactorGpuCholesky : FactorGpuRows<T, S, C> {
  using Rows = FactorGpuRows<T, S, C>;
  using R = typename FactorGpuReal<T>::Type;
  using Rows::lanes, Rows::n, Rows::pitch, Rows::row, Rows::rows, Rows::sync;

  T* l;
  int lane, info = 0;
  T finished[rows];  // this lane's part of the column before

  __device__ __forceinline__ void finish(int k) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int i = lane + lanes * r;
      if (i >= k && i < n) l[k * pitch + i] = finished[r];
    }
  }

  template <int v, int Width>
  __device__ __forceinline__ void column(int first) {
    const int k = first + v;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int i = lane + lanes * r;
      if (i >= k && i < n) l[k * pitch + i] = row[r][v];
    }
    sync();
    if (k > 0) finish(k - 1);
    T below[n];
    Rows::template get<v, Width>(below, l + k * pitch + first);
    const R d = real_part(below[v]);
    if (!(d > 0) && info == 0) info = k + 1;
    const R inverse = inverse_root(d), root = root_of(d, inverse);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      finished[r] = times_real(row[r][v], inverse);
      const T factor = negative(times_real(finished[r], inverse));
      if (lane + lanes * r == k) finished[r] = from_real<T>(root);
#pragma unroll
      for (int j = v + 1; j < Width; ++j)
        if (lanes > 1 || first + j <= r)  // one lane holds all rows, and knows where each one ends
          multiply_add(row[r][j], factor, conjugate_if<true>(below[j]));
    }
  }

  // Returns 0, or the order of the first leading minor that is not positive.
  __device__ __forceinline__ int factor() {
    Rows::load(l, lane);
    Rows::template each_column<0>(*this);
    sync();
    finish(n - 1);
    sync();
    return info;
  }
};

}  // namespace tilewright
