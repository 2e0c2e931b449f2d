// Runs the kernel of small factorizations on the host: every order from 1 to 32, with the types in turn, by
// the config that the library chooses.
#include <utility>

#include "emulation/factor_gpu.hpp"

namespace tilewright::emulation {
namespace {

constexpr LaneShape problem(Routine routine, DType dtype, int n, int nrhs = 0) {
  LaneShape p;
  p.routine = routine, p.dtype = dtype, p.m = p.n = n, p.nrhs = nrhs;
  return p;
}

template <int>
struct TypeInTurn;
template <>
struct TypeInTurn<0> {
  using Type = double;
};
template <>
struct TypeInTurn<1> {
  using Type = float;
};
template <>
struct TypeInTurn<2> {
  using Type = std::complex<double>;
};
template <>
struct TypeInTurn<3> {
  using Type = std::complex<float>;
};

// Calls f.template operator()<T, n>() for all orders; `Turn` says which type the first has.
template <int Turn, class F>
void each_order(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (f.template operator()<typename TypeInTurn<(I + Turn) % 4>::Type, I + 1>(), ...);
  }
  (std::make_integer_sequence<int, factor_gpu_limit>());
}

TEST(FactorGpuEmulation, Cholesky) {
  each_order<0>(
      []<class T, int n>() { FactorCase<T, problem(Routine::potrf, dtype_of<T>, n)>().expect_right(); });
}

TEST(FactorGpuEmulation, Lu) {
  each_order<0>(
      []<class T, int n>() { FactorCase<T, problem(Routine::getrf, dtype_of<T>, n)>().expect_right(); });
  each_order<1>(
      []<class T, int n>() { FactorCase<T, problem(Routine::getrf, dtype_of<T>, n)>().expect_right(); });
}

TEST(FactorGpuEmulation, TriangularSolves) {
  each_order<0>([]<class T, int n>() {
    constexpr auto p = [] {
      LaneShape shape = problem(Routine::trsm, dtype_of<T>, n, n);
      shape.op = static_cast<Op>(n % 3);
      shape.uplo = n % 2 == 0 ? Uplo::upper : Uplo::lower;
      shape.side = n % 4 < 2 ? Side::left : Side::right;
      shape.diag = n % 5 == 0 ? Diag::unit : Diag::non_unit;
      return shape;
    }();
    FactorCase<T, p>().expect_right();
  });
}

TEST(FactorGpuEmulation, Systems) {
  each_order<3>([]<class T, int n>() {
    constexpr Routine routine = n % 3 == 0 ? Routine::posv : Routine::gesv;
    FactorCase<T, problem(routine, dtype_of<T>, n, 1 + n % 4)>().expect_right();
  });
}

// Of equal elements the first is the pivot, as in LAPACK: elements of 1 and -1 are eliminated exactly, so
// that the pivots can be compared.
TEST(FactorGpuEmulation, FirstOfEqualPivots) {
  constexpr int n = 16;
  constexpr FactorGpuShape s = factor_gpu_shape(problem(Routine::getrf, DType::f64, n), false, false);
  constexpr FactorGpuConfig c{.lanes = 4};
  std::vector<double> a(n * n), plain;
  for (int i = 0; i < n * n; ++i)
    a[std::size_t(i)] = __builtin_popcount(unsigned(i % n & i / n)) % 2 == 0 ? 1 : -1;
  plain = a;
  std::vector<int> pivots(n), expected(n);
  const auto at = [&](int i, int j) -> double& { return plain[std::size_t(j * n + i)]; };
  for (int k = 0; k < n; ++k) {
    int p = k;
    for (int i = k; i < n; ++i)
      if (std::fabs(at(i, k)) > std::fabs(at(p, k))) p = i;
    expected[std::size_t(k)] = p + 1;
    for (int j = 0; j < n; ++j) std::swap(at(k, j), at(p, j));
    for (int i = k + 1; i < n; ++i) {
      at(i, k) /= at(k, k);
      for (int j = k + 1; j < n; ++j) at(i, j) -= at(i, k) * at(k, j);
    }
  }
  FactorGpuArgs<double> args{};
  args.a = {a.data(), nullptr, n * n, n, 1, 1, 0};
  args.count = 1, args.pivots = pivots.data();
  const Launch launch{.threads = unsigned(factor_gpu_threads(c)),
                      .shared_bytes = unsigned(factor_gpu_memory(s, c, sizeof(double)).total),
                      .global = {{a.data(), a.size() * sizeof(double)}}};
  ASSERT_EQ(run(launch, [&] { factor_gpu<double, s, c>(args); }), "");
  EXPECT_EQ(pivots, expected);
  EXPECT_EQ(a, plain);
}

}  // namespace
}  // namespace tilewright::emulation
