// Chains: the bits of their passes run one after the other, whatever the pieces and threads; scratch; calls
// from a parallel region.
#include "tilewright/chain.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <complex>
#include <random>

#include "core/problem.hpp"

namespace tilewright {
namespace {

// U of an element is n x n x n. Contractions with D in x, y and z, then with its transpose in z, y and x:
// R = D^T D U in every direction. Of y the innermost level goes through the slices of an element; of z it is
// a strided batch of one level, or, to have strides within strides, of rows of the slices.
template <class T>
struct SumFactorization {
  std::int64_t n, elements;
  std::vector<T> d, u, t1, t2, result;
  std::vector<GemmPlan> plans;

  SumFactorization(Context& context, std::int64_t n_, std::int64_t elements_)
      : n(n_), elements(elements_), d(values(n_ * n_, 3)), u(values(n_ * n_ * n_ * elements_, 5)) {
    t1 = t2 = result = std::vector<T>(u.size(), T(-7));
    const std::string all = fmt::format("{}", elements), slices = fmt::format("{}", elements * n);
    const auto made = [&](const char* ops, std::int64_t m, std::int64_t nn, const std::string& rest) {
      plans.push_back(plan(context, parse_problem(fmt::format("gemm_batched:{}:{}:m={},n={},k={}:strided:{}",
                                                              to_string(dtype_of<T>), ops, m, nn, n, rest))));
    };
    for (const char* op : {"t", "n"}) {
      made((std::string(op) + "n").c_str(), n, n * n, fmt::format("batch={}:stride_a=0", all));
      made((std::string("n") + (*op == 't' ? "n" : "t")).c_str(), n, n,
           fmt::format("batch={}:outer={}:stride_b=0:outer_b=0", slices, all));
      // Rows y of all slices: n x n with columns a slice apart.
      made((std::string("n") + (*op == 't' ? "n" : "t")).c_str(), n, n,
           fmt::format("batch={0}:outer={1}:lda={2}:ldc={2}:stride_a={3}:stride_c={3}:stride_b=0:outer_a={4}"
                       ":outer_b=0:outer_c={4}",
                       slices, all, n * n, n, n * n * n));
    }
  }

  static std::vector<T> values(std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> draw(-1, 1);
    std::vector<T> all(static_cast<std::size_t>(count));
    for (T& x : all) {
      x = T(draw(random));
      if constexpr (is_complex(dtype_of<T>)) x += T(0, typename T::value_type(draw(random)));
    }
    return all;
  }

  std::vector<ChainPass<T>> passes(ChainOperand<T> first, ChainOperand<T> second) {
    const auto read = [](const ChainOperand<T>& x) {
      return x.scratch > 0 ? ChainOperand<const T>(ChainScratch{x.scratch}) : ChainOperand<const T>(x.data);
    };
    const T* const matrix = d.data();
    return {{&plans[0], T(1), matrix, u.data(), T(0), first},
            {&plans[1], T(1), read(first), matrix, T(0), second},
            {&plans[2], T(1), read(second), matrix, T(0), first},
            {&plans[5], T(1), read(first), matrix, T(0), second},
            {&plans[4], T(1), read(second), matrix, T(0), first},
            {&plans[3], T(1), matrix, read(first), T(0), result.data()}};
  }

  std::vector<T> pass_by_pass() {
    const T *matrix = d.data(), *from = u.data();
    plans[0].run<T>(T(1), matrix, from, T(0), t1.data());
    plans[1].run<T>(T(1), t1.data(), matrix, T(0), t2.data());
    plans[2].run<T>(T(1), t2.data(), matrix, T(0), t1.data());
    plans[5].run<T>(T(1), t1.data(), matrix, T(0), t2.data());
    plans[4].run<T>(T(1), t2.data(), matrix, T(0), t1.data());
    plans[3].run<T>(T(1), matrix, t1.data(), T(0), result.data());
    return std::exchange(result, std::vector<T>(u.size(), T(-7)));
  }
};

template <class T>
class Chains : public ::testing::Test {};
using ChainTypes = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Chains, ChainTypes);

TYPED_TEST(Chains, AreTheirPassesOneAfterTheOtherBitForBit) {
  using T = TypeParam;
  Context context({.use_wisdom = false});
  for (const std::int64_t n : {2, 5, 9}) {
    SumFactorization<T> fem(context, n, 37);
    const std::vector<T> wanted = fem.pass_by_pass();
    for (const int threads : {0, 1, 2, 5})
      for (const std::int64_t piece : {0, 1, 7, 100})
        for (const bool scratch : {false, true}) {
          const auto passes = scratch ? fem.passes(ChainScratch{1}, ChainScratch{2})
                                      : fem.passes(fem.t1.data(), fem.t2.data());
          run_chain<T>(fem.elements, passes, {.threads = threads, .piece = piece});
          ASSERT_EQ(std::exchange(fem.result, std::vector<T>(fem.u.size(), T(-7))), wanted)
              << n << " threads " << threads << " piece " << piece << " scratch " << scratch;
        }
  }
}

// The first element by hand, so that both ways are not wrong alike.
TYPED_TEST(Chains, OfContractionsAreRight) {
  using T = TypeParam;
  Context context({.use_wisdom = false});
  SumFactorization<T> fem(context, 3, 4);
  run_chain<T>(fem.elements, fem.passes(ChainScratch{1}, ChainScratch{2}));
  const std::int64_t n = fem.n;
  const auto d = [&](std::int64_t i, std::int64_t j) { return fem.d[std::size_t(j * n + i)]; };
  std::vector<T> g(
      static_cast<std::size_t>(n * n));  // D D^T, as x multiplies from the left, or from the right in y and z
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t q = 0; q < n; ++q) g[std::size_t(j * n + i)] += d(i, q) * d(j, q);
  for (std::int64_t at = 0; at < n * n * n; ++at) {
    T sum = 0;
    for (std::int64_t from = 0; from < n * n * n; ++from)
      sum += g[std::size_t(from % n * n + at % n)] * g[std::size_t(from / n % n * n + at / n % n)] *
             g[std::size_t(from / n / n * n + at / n / n)] * fem.u[std::size_t(from)];
    EXPECT_LT(std::abs(sum - fem.result[std::size_t(at)]), 1e-4) << at;
  }
}

TEST(Chain, RunsInTheCallersParallelRegion) {
  Context context({.use_wisdom = false});
  std::vector<std::unique_ptr<SumFactorization<double>>> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(std::make_unique<SumFactorization<double>>(context, 3 + i % 2, 50));
  const std::vector<double> wanted[] = {all[0]->pass_by_pass(), all[1]->pass_by_pass()};
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 4; ++i)
    run_chain<double>(50, all[std::size_t(i)]->passes(ChainScratch{1}, ChainScratch{2}));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(all[std::size_t(i)]->result, wanted[i % 2]) << i;
}

// Values of alpha and beta go with their problems, and an operand may be updated by several passes.
TEST(Chain, TakesValuesPerProblemAndUpdates) {
  Context context({.use_wisdom = false});
  const GemmPlan one = plan(
      context, parse_problem("gemm_batched:f64:nn:m=3,n=3,k=3:strided:batch=40:alpha=general:beta=general"));
  std::vector<double> alphas(40), betas(40), a(360), b(360), c(360), wanted;
  for (std::size_t i = 0; i < 40; ++i) alphas[i] = double(i % 4), betas[i] = double(i % 3);
  for (std::size_t i = 0; i < 360; ++i) a[i] = double(i % 5), b[i] = double(i % 7), c[i] = double(i % 3);
  wanted = c;
  const BatchScalar<double> x(alphas.data()), y(betas.data());
  for (int i = 0; i < 2; ++i) one.run<double>(x, a.data(), b.data(), y, wanted.data());
  const ChainPass<double> pass{&one, x, a.data(), b.data(), y, c.data()};
  const ChainPass<double> both[] = {pass, pass};
  run_chain<double>(20, both, {.threads = 2, .piece = 3});
  EXPECT_EQ(c, wanted);
}

TEST(Chain, OfNothingIsNothing) {
  Context context;
  run_chain<double>(0, {});
  run_chain<double>(5, {});
  const GemmPlan none = plan(context, parse_problem("gemm_batched:f64:nn:m=3,n=3,k=3:strided:batch=0"));
  const ChainPass<double> pass{&none, 1.0, nullptr, nullptr, 0.0, nullptr};
  run_chain<double>(0, std::span(&pass, 1));
}

TEST(Chain, ExplainsItself) {
  Context context({.use_wisdom = false});
  SumFactorization<double> fem(context, 4, 6000);
  const std::string text = explain_chain<double>(6000, fem.passes(ChainScratch{1}, ChainScratch{2}));
  // u, both scratches and the result, 64 doubles each.
  EXPECT_NE(text.find("6 passes over 6000 elements"), std::string::npos) << text;
  EXPECT_NE(text.find("of 2048 bytes each"), std::string::npos) << text;
  EXPECT_NE(text.find("4 problems of an element"), std::string::npos) << text;
}

}  // namespace
}  // namespace tilewright
