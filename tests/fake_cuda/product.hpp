// Products of the fake library and the fake kernels: plain sums in the order of k, computed down the columns
// of C so that a compiler may vectorise them.
#pragma once

#include <complex>
#include <vector>

namespace tilewright::fake_cuda {

template <class T>
T conjugate(T x) {
  return x;
}
template <class R>
std::complex<R> conjugate(std::complex<R> x) {
  return std::conj(x);
}

// op(X): element (i, j) is at base + i * row + j * column.
template <class T>
struct Elements {
  const T* base = nullptr;
  long long row = 1, column = 0;
  bool conjugated = false;

  Elements transposed() const { return {base, column, row, conjugated}; }
  T at(long long i, long long j) const {
    const T x = base[i * row + j * column];
    return conjugated ? conjugate(x) : x;
  }
};

// Calls store(i, j, sum) for each element of op(A) op(B).
template <class T, class Store>
void multiply_elements(long long m, long long n, long long k, const Elements<T>& a, const Elements<T>& b,
                       Store&& store) {
  thread_local std::vector<T> columns_of_a, sums;
  columns_of_a.resize(std::size_t(m * k));
  for (long long l = 0; l < k; ++l)
    for (long long i = 0; i < m; ++i) columns_of_a[std::size_t(l * m + i)] = a.at(i, l);
  for (long long j = 0; j < n; ++j) {
    sums.assign(std::size_t(m), T{});
    for (long long l = 0; l < k; ++l) {
      const T v = b.at(l, j);
      const T* const u = columns_of_a.data() + l * m;
      T* const sum = sums.data();
      for (long long i = 0; i < m; ++i) sum[i] += u[i] * v;
    }
    for (long long i = 0; i < m; ++i) store(i, j, sums[std::size_t(i)]);
  }
}

}  // namespace tilewright::fake_cuda
