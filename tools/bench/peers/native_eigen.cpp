// Eigen, built for this processor: its general product over maps with outer strides, for every type and
// operation; and with sizes known at compile time, as products of coefficients: Eigen's own choice while
// M + N + K < 20, and faster than its general product for most sizes above (that one is measured with
// run-time sizes, where it runs the same kernel).
#include <Eigen/Core>
#include <complex>

#include "native.hpp"

namespace tilewright::peers {
namespace {

template <class T>
T scalar(const double* value) {
  if constexpr (Eigen::NumTraits<T>::IsComplex)
    return T(static_cast<typename T::value_type>(value[0]), static_cast<typename T::value_type>(value[1]));
  else
    return static_cast<T>(value[0]);
}

// Computes C = alpha A B + beta C as Eigen evaluates it itself: C is cleared or scaled, then the product is
// added.
template <class C, class A, class B, class T>
void product(C& c, const A& a, const B& b, T alpha, T beta) {
  if (beta == T(0))
    c.setZero();
  else if (beta != T(1))
    c *= beta;
  c.noalias() += alpha * (a * b);
}

template <class T>
void run_eigen(const EigenCall& call, const void* a_data, const void* b_data, void* c_data) {
  using Dynamic = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using Stride = Eigen::OuterStride<>;
  using In = Eigen::Map<const Dynamic, 0, Stride>;
  const T alpha = scalar<T>(call.alpha);
  const T beta = scalar<T>(call.beta);
  const In a(static_cast<const T*>(a_data), call.op_a ? call.k : call.m, call.op_a ? call.m : call.k,
             Stride(call.lda));
  const In b(static_cast<const T*>(b_data), call.op_b ? call.n : call.k, call.op_b ? call.k : call.n,
             Stride(call.ldb));
  Eigen::Map<Dynamic, 0, Stride> c(static_cast<T*>(c_data), call.m, call.n, Stride(call.ldc));
  const auto with_op = [](int op, const In& matrix, const auto& body) {
    if (op == 0) return body(matrix);
    if constexpr (!Eigen::NumTraits<T>::IsComplex) body(matrix.transpose());
  };
  with_op(call.op_a, a, [&](const auto& left) {
    with_op(call.op_b, b, [&](const auto& right) { product(c, left, right, alpha, beta); });
  });
}

template <class T, int M, int N, int K, bool Accumulate>
void eigen_batch(const T* a, const T* b, T* c, std::int64_t count) {
  using Eigen::Map;
  using Eigen::Matrix;
  for (std::int64_t p = 0; p < count; ++p) {
    const Map<const Matrix<T, M, K>> a_p(a + p * M * K);
    const Map<const Matrix<T, K, N>> b_p(b + p * K * N);
    Map<Matrix<T, M, N>> c_p(c + p * M * N);
    if constexpr (Accumulate)
      c_p += a_p.lazyProduct(b_p);
    else
      c_p = a_p.lazyProduct(b_p);
  }
}

// clang-format off
#define TILEWRIGHT_EIGEN(m, n, k)                               \
  {m, n, k, false, "fixed", &eigen_batch<T, m, n, k, false>},   \
  {m, n, k, true, "fixed", &eigen_batch<T, m, n, k, true>},
// clang-format on

template <class T>
constexpr FixedKernel<T> eigen_kernels[] = {TILEWRIGHT_ACCEPTANCE_SIZES(TILEWRIGHT_EIGEN)};

template <class T>
FixedTable<T> eigen_table() {
  return {eigen_kernels<T>, int(sizeof(eigen_kernels<T>) / sizeof(FixedKernel<T>)), TILEWRIGHT_BUILT_FOR};
}

}  // namespace

FixedTable<float> eigen_fixed_f32() { return eigen_table<float>(); }
FixedTable<double> eigen_fixed_f64() { return eigen_table<double>(); }

EigenDynamic eigen_dynamic(int type) {
  constexpr decltype(EigenDynamic::run) runs[] = {&run_eigen<float>, &run_eigen<double>,
                                                  &run_eigen<std::complex<float>>,
                                                  &run_eigen<std::complex<double>>};
  return {runs[type], TILEWRIGHT_BUILT_FOR};
}

const char* eigen_version() {
#define TILEWRIGHT_TEXT(x) #x
#define TILEWRIGHT_VERSION_TEXT(x, y, z) TILEWRIGHT_TEXT(x) "." TILEWRIGHT_TEXT(y) "." TILEWRIGHT_TEXT(z)
  return TILEWRIGHT_VERSION_TEXT(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
}

}  // namespace tilewright::peers
