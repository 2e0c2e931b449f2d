// A ScaLAPACK of one process by plain loops, with the BLACS, PBLAS and LAPACK that libtilewright_scalapack
// calls. It counts its calls. In a grid with more than one row, all blocks that matter must belong to the
// first row.
#include "fake_scalapack.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

extern "C" FakeCalls fake_calls;
FakeCalls fake_calls;

namespace {

template <class T>
T* at(T* a, const int* desc, int i, int j) {
  return a + (i - 1) + std::ptrdiff_t(j - 1) * desc[8];
}

template <class T>
double size_of(const T& x) {
  return std::abs(std::real(x)) + std::abs(std::imag(x));
}

// Unblocked LU of m x n with leading dimension ld; pivots are counted from `base`.
template <class T>
int factor_plainly(int m, int n, T* a, int ld, int* pivots, int base) {
  int info = 0;
  for (int k = 0; k < std::min(m, n); ++k) {
    T* column = a + std::ptrdiff_t(k) * ld;
    int best = k;
    for (int i = k + 1; i < m; ++i)
      if (size_of(column[i]) > size_of(column[best])) best = i;
    pivots[k] = best + base;
    if (size_of(column[best]) == 0) {
      if (info == 0) info = k + 1;
      continue;
    }
    for (int j = 0; best != k && j < n; ++j)
      std::swap(a[k + std::ptrdiff_t(j) * ld], a[best + std::ptrdiff_t(j) * ld]);
    for (int i = k + 1; i < m; ++i) column[i] /= column[k];
    for (int j = k + 1; j < n; ++j)
      for (int i = k + 1; i < m; ++i)
        a[i + std::ptrdiff_t(j) * ld] -= column[i] * a[k + std::ptrdiff_t(j) * ld];
  }
  return info;
}

template <class T>
void swap_plainly(int n, T* a, int ld, int k1, int k2, const int* pivots, bool forward) {
  for (int step = 0; step <= k2 - k1; ++step) {
    const int i = forward ? k1 + step : k2 - step, other = pivots[i - 1];
    for (int j = 0; j < n; ++j)
      std::swap(a[i - 1 + std::ptrdiff_t(j) * ld], a[other - 1 + std::ptrdiff_t(j) * ld]);
  }
}

}  // namespace

extern "C" {
void blacs_gridinfo_(const int*, int* rows, int* columns, int* row, int* column) {
  *rows = fake_calls.rows, *columns = fake_calls.columns, *row = *column = 0;
}
void igebs2d_(const int*, const char*, const char*, const int*, const int*, const int*, const int*) {}
void igebr2d_(const int*, const char*, const char*, const int*, const int*, int*, const int*, const int*,
              const int*) {}
void igamn2d_(const int*, const char*, const char*, const int*, const int*, int*, const int*, int*, int*,
              const int*, const int*, const int*) {}
void pb_topget_(const int*, const char*, const char*, char* topology) { *topology = 'i'; }
void pb_topset_(const int*, const char*, const char*, const char*) {}
void chk1mat_(const int* m, const int*, const int* n, const int*, const int* ia, const int* ja,
              const int* desc, const int*, int* info) {
  *info = *m < 0                              ? -1
          : *n < 0                            ? -2
          : *ia < 1 || *ia + *m - 1 > desc[2] ? -4
          : *ja < 1 || *ja + *n - 1 > desc[3] ? -5
                                              : 0;
}
}

#define FAKE(x, T)                                                                                           \
  extern "C" void p##x##gemm_(const char*, const char*, const int* m, const int* n, const int* k,            \
                              const T* alpha, const T* a, const int* ia, const int* ja, const int* da,       \
                              const T* b, const int* ib, const int* jb, const int* db, const T* beta, T* c,  \
                              const int* ic, const int* jc, const int* dc) {                                 \
    ++fake_calls.gemm;                                                                                       \
    fake_calls.deepest = std::max(fake_calls.deepest, *k);                                                   \
    fake_calls.updated += double(*m) * *n;                                                                   \
    for (int j = 0; j < *n; ++j)                                                                             \
      for (int i = 0; i < *m; ++i) {                                                                         \
        T sum(0);                                                                                            \
        for (int l = 0; l < *k; ++l) sum += *at(a, da, *ia + i, *ja + l) * *at(b, db, *ib + l, *jb + j);     \
        T* element = at(c, dc, *ic + i, *jc + j);                                                            \
        *element = *alpha * sum + *beta * *element;                                                          \
      }                                                                                                      \
  }                                                                                                          \
  extern "C" void p##x##trsm_(const char*, const char*, const char*, const char*, const int* m,              \
                              const int* n, const T*, const T* a, const int* ia, const int* ja,              \
                              const int* da, T* b, const int* ib, const int* jb, const int* db) {            \
    ++fake_calls.trsm;                                                                                       \
    for (int j = 0; j < *n; ++j)                                                                             \
      for (int k = 0; k < *m; ++k)                                                                           \
        for (int i = k + 1; i < *m; ++i)                                                                     \
          *at(b, db, *ib + i, *jb + j) -= *at(a, da, *ia + i, *ja + k) * *at(b, db, *ib + k, *jb + j);       \
  }                                                                                                          \
  extern "C" void p##x##getrf_(const int* m, const int* n, T* a, const int* ia, const int* ja, const int* d, \
                               int* pivots, int* info) {                                                     \
    ++fake_calls.factor;                                                                                     \
    *info = *m < 0 || *n < 0 || (*ia - 1) % d[4] != 0                                                        \
                ? -99                                                                                        \
                : factor_plainly(*m, *n, at(a, d, *ia, *ja), d[8], pivots + *ia - 1, *ia);                   \
  }                                                                                                          \
  extern "C" void p##x##getf2_(const int* m, const int* n, T* a, const int* ia, const int* ja, const int* d, \
                               int* pivots, int* info) {                                                     \
    ++fake_calls.panel;                                                                                      \
    *info = factor_plainly(*m, *n, at(a, d, *ia, *ja), d[8], pivots + *ia - 1, *ia);                         \
  }                                                                                                          \
  extern "C" void p##x##laswp_(const char* direction, const char* what, const int* n, T* a, const int*,      \
                               const int* ja, const int* d, const int* k1, const int* k2,                    \
                               const int* pivots) {                                                          \
    ++fake_calls.swap;                                                                                       \
    if (*what == 'R') swap_plainly(*n, at(a, d, 1, *ja), d[8], *k1, *k2, pivots, *direction == 'F');         \
  }                                                                                                          \
  extern "C" void x##getrf_(const int* m, const int* n, T* a, const int* ld, int* pivots, int* info) {       \
    ++fake_calls.local_factor;                                                                               \
    *info = factor_plainly(*m, *n, a, *ld, pivots, 1);                                                       \
  }                                                                                                          \
  extern "C" void x##laswp_(const int* n, T* a, const int* ld, const int* k1, const int* k2,                 \
                            const int* pivots, const int* step) {                                            \
    ++fake_calls.local_swap;                                                                                 \
    swap_plainly(*n, a, *ld, *k1, *k2, pivots, *step > 0);                                                   \
  }
FAKE(s, float)
FAKE(d, double)
FAKE(c, std::complex<float>)
FAKE(z, std::complex<double>)
