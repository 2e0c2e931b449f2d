// Eigen's products of fixed size among the contenders of bench_small: its own choice, and the product of
// coefficients that it uses only for the smallest. TILEWRIGHT_BENCH_TYPE and _LIST select this list.
#include "small_cases.hpp"

#ifndef TILEWRIGHT_PEER_EIGEN

namespace tilewright::bench {
SmallCases TILEWRIGHT_BENCH_LIST() { return {}; }
}  // namespace tilewright::bench

#else

#include <Eigen/Core>

namespace tilewright::bench {
namespace {

using T = TILEWRIGHT_BENCH_TYPE;

template <int N, int Beta, bool Lazy>
struct EigenProduct {
  static void multiply(const T* a, const T* b, T* c) {
    using Matrix = Eigen::Matrix<T, N, N>;
    const Eigen::Map<const Matrix> left(a), right(b);
    Eigen::Map<Matrix> sum(c);
    const auto put = [&](const auto& product) {
      if constexpr (Beta)
        sum.noalias() += product;
      else
        sum.noalias() = product;
    };
    if constexpr (Lazy)
      put(left.lazyProduct(right));
    else
      put(left * right);
  }
};

}  // namespace

SmallCases TILEWRIGHT_BENCH_LIST() {
  return of_all_sizes([]<int N, int Beta>(SmallCases& cases) {
    cases.push_back({"eigen", "lazy", sizeof(T), N, Beta, walk<T, N, EigenProduct<N, Beta, true> >});
    cases.push_back({"eigen", "product", sizeof(T), N, Beta, walk<T, N, EigenProduct<N, Beta, false> >});
  });
}

}  // namespace tilewright::bench

#endif
