// Eigen with sizes known at compile time, as products of coefficients: Eigen's own choice while M + N + K <
// 20, and faster than its general product for most sizes above (that one is measured with run-time sizes,
// where it runs the same kernel). It is built for this processor.

#include <Eigen/Core>

#include "fixed_kernel.hpp"
#include "sizes.hpp"

namespace tilewright::peers {
namespace {

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
  return {eigen_kernels<T>, int(sizeof(eigen_kernels<T>) / sizeof(FixedKernel<T>)), TILEWRIGHT_TABLE_ISA};
}

}  // namespace

FixedTable<float> eigen_fixed_f32() { return eigen_table<float>(); }
FixedTable<double> eigen_fixed_f64() { return eigen_table<double>(); }

}  // namespace tilewright::peers
