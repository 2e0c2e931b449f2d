// Eigen's general product over maps with outer strides, for every type and operation. It is built for this
// processor.
#include "eigen_dynamic.hpp"

#include <Eigen/Core>
#include <complex>

#include "fixed_kernel.hpp"

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
void run(const EigenCall& call, const void* a_data, const void* b_data, void* c_data) {
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

}  // namespace

EigenDynamic eigen_dynamic(int type) {
  constexpr EigenRun runs[] = {&run<float>, &run<double>, &run<std::complex<float>>,
                               &run<std::complex<double>>};
  return {runs[type], TILEWRIGHT_TABLE_ISA};
}

const char* eigen_version() {
#define TILEWRIGHT_TEXT(x) #x
#define TILEWRIGHT_VERSION_TEXT(x, y, z) TILEWRIGHT_TEXT(x) "." TILEWRIGHT_TEXT(y) "." TILEWRIGHT_TEXT(z)
  return TILEWRIGHT_VERSION_TEXT(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
}

}  // namespace tilewright::peers
