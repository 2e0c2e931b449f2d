// A CBLAS whose integers have 64 bits, in plain loops: what tests open to see that such libraries are told
// apart and served. FAKE_SUFFIX is what its names end in. Column-major alone.
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>

namespace {

using Int = std::int64_t;
constexpr int plain = 111, conjugated = 113;

template <class T>
T conjugate(T x) {
  return x;
}
template <class R>
std::complex<R> conjugate(std::complex<R> x) {
  return std::conj(x);
}

template <class T>
T element(int op, const T* a, Int ld, Int i, Int j) {
  const T x = op == plain ? a[i + j * ld] : a[j + i * ld];
  return op == conjugated ? conjugate(x) : x;
}

template <class T>
void multiply(int op_a, int op_b, Int m, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb,
              T beta, T* c, Int ldc) {
  for (Int j = 0; j < n; ++j)
    for (Int i = 0; i < m; ++i) {
      T sum(0);
      for (Int l = 0; l < k; ++l) sum += element(op_a, a, lda, i, l) * element(op_b, b, ldb, l, j);
      c[i + j * ldc] = alpha * sum + (beta == T(0) ? T(0) : beta * c[i + j * ldc]);
    }
}

template <class T>
Int factor(Int m, Int n, T* a, Int lda, Int* pivots) {
  for (Int k = 0; k < (m < n ? m : n); ++k) {
    Int top = k;
    for (Int i = k + 1; i < m; ++i)
      if (std::abs(a[i + k * lda]) > std::abs(a[top + k * lda])) top = i;
    pivots[k] = top + 1;
    for (Int j = 0; j < n; ++j) std::swap(a[k + j * lda], a[top + j * lda]);
    for (Int i = k + 1; i < m; ++i) {
      a[i + k * lda] /= a[k + k * lda];
      for (Int j = k + 1; j < n; ++j) a[i + j * lda] -= a[i + k * lda] * a[k + j * lda];
    }
  }
  return 0;
}

}  // namespace

#define JOIN_AGAIN(x, y) x##y
#define JOIN(x, y) JOIN_AGAIN(x, y)
#define NAME(x) JOIN(x, FAKE_SUFFIX)
// SCALAR is how alpha and beta come, VALUE(x) what they are.
#define ROUTINES(letter, T, SCALAR, VALUE)                                                                \
  void NAME(cblas_##letter##gemm)(int, int op_a, int op_b, Int m, Int n, Int k, SCALAR alpha, const T* a, \
                                  Int lda, const T* b, Int ldb, SCALAR beta, T* c, Int ldc) {             \
    multiply<T>(op_a, op_b, m, n, k, VALUE(alpha), a, lda, b, ldb, VALUE(beta), c, ldc);                  \
  }                                                                                                       \
  Int NAME(LAPACKE_##letter##getrf_work)(int, Int m, Int n, T* a, Int lda, Int* pivots) {                 \
    return factor<T>(m, n, a, lda, pivots);                                                               \
  }
#define ITSELF(x) x
#define BEHIND(x) *x

extern "C" {
ROUTINES(s, float, float, ITSELF)
ROUTINES(d, double, double, ITSELF)
ROUTINES(c, std::complex<float>, const std::complex<float>*, BEHIND)
ROUTINES(z, std::complex<double>, const std::complex<double>*, BEHIND)
double NAME(cblas_dasum)(Int n, const double* x, Int step) {
  double sum = 0;
  for (Int i = 0; i < n; ++i) sum += std::abs(x[i * step]);
  return sum;
}
}
