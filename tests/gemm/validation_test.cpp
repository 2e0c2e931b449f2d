// Problems that only checks of a whole description refuse or allow, and what the C++ functions compute from
// good arguments, for grouped and variable batches. tests/golden records the messages of bad arguments.
#include <gtest/gtest.h>

#include <complex>

#include "core/product/faults.hpp"
#include "support/operands.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {
namespace {

void expect_fault(const GemmProblem& p, const std::string& argument, const std::string& part) {
  const auto fault = find_fault(p);
  ASSERT_TRUE(fault) << to_string(p);
  EXPECT_EQ(fault->argument, argument) << fault->message;
  EXPECT_NE(fault->message.find(part), std::string::npos) << fault->message;
  EXPECT_THROW(validate(p), Error);
}

TEST(Validate, FactorsPerProblemAreAClassOfTheProblem) {
  const std::string text =
      "gemm_batched:f64:nn:m=2,n=2,k=2:strided:batch=3:alpha=per_problem:beta=per_problem";
  const GemmProblem p = parse_problem(text);
  EXPECT_EQ(p.alpha, Scalar::per_problem);
  EXPECT_EQ(to_string(p), text);
  TestOperands<double> x(p);
  const std::vector<double> alpha{1, 0, -2}, beta{0, 1, 3};
  std::vector<double> expected = x.c;
  for (std::size_t q = 0; q < 3; ++q)
    for (std::size_t j = 0; j < 2; ++j)
      for (std::size_t i = 0; i < 2; ++i) {
        const double *a = &x.a[4 * q], *b = &x.b[4 * q];
        double& c = expected[4 * q + 2 * j + i];
        c = alpha[q] * (a[i] * b[2 * j] + a[i + 2] * b[2 * j + 1]) + beta[q] * c;
      }
  Context context({.use_wisdom = false, .notices = false});
  const GemmPlan made = plan(context, p);
  EXPECT_EQ(made.problem().alpha, Scalar::general) << "the host serves both";
  made.run<double>(BatchScalar<double>(alpha.data()), x.a.data(), x.b.data(),
                   BatchScalar<double>(beta.data()), x.c.data());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(x.c[i], expected[i], 1e-13);
  GemmProblem sums = parse_problem("gemm_batch_reduce:f64:nn:m=2,n=2,k=2:strided:batch=3");
  sums.beta = Scalar::per_problem;
  expect_fault(sums, "beta", "beta = per_problem");
  sums.beta = static_cast<Scalar>(9);
  expect_fault(sums, "beta", "beta = 9");
}

// 2^62 strides of 2^62 elements of 16 bytes are 2^128, which 128 bits hold as nothing.
TEST(Validate, SpansDoNotWrapAround) {
  GemmProblem far = parse_problem("gemm_batched:c128:nn:m=8,n=6,k=4:strided:batch=10");
  EXPECT_FALSE(find_fault(far));
  far.batch_count = (std::int64_t(1) << 62) + 1;
  far.stride_a = far.stride_b = far.stride_c = std::int64_t(1) << 62;
  expect_fault(far, "batch_count", "batch_count = 4611686018427387905 makes A span more than 2^62 bytes");
}

TEST(Validate, InterleavedBatchesAreOneBlock) {
  GemmProblem p = parse_problem("gemm_batched:f64:nn:m=2,n=2,k=2:block_interleaved:batch=10:block=4");
  EXPECT_FALSE(find_fault(p));
  p.layout = Layout::interleaved;
  expect_fault(p, "block", "one block of all 10 problems");
}

TEST(Validate, AllowsWhatIsOnlyUnusual) {
  EXPECT_FALSE(find_fault(parse_problem("gemm_batched:f64:nn:m=8,n=6,k=4:strided:batch=1:stride_c=0")));
  EXPECT_FALSE(
      find_fault(parse_problem("gemm_batched:f64:nn:m=8,n=6,k=4:strided:batch=9:stride_a=0:stride_b=1")));
  EXPECT_FALSE(find_fault(parse_problem("gemm_batched:f64:nn:m=0,n=0,k=0:strided:batch=0")));
  EXPECT_FALSE(
      find_fault(parse_problem("gemm_batched:f64:nn:m=8,n=1,k=4:strided:batch=9:ldc=20:stride_c=8")));
}

TEST(EmptyCalls, DoNothing) {
  Context context;
  const MatrixView<double> none{nullptr, 0, 0, 0};
  EXPECT_NO_THROW(gemm<double>(context, Op::none, Op::none, 1.0, none, none, 0.0, none));
  const PointerBatch<double> empty{nullptr, 3, 3, 3, 0};
  EXPECT_NO_THROW(gemm_batched<double>(context, Op::none, Op::none, 1.0, empty, empty, 0.0, empty));
  EXPECT_NO_THROW(gemm_grouped<double>(context, {}));
  EXPECT_NO_THROW(gemm_variable<float>(context, std::span<const GemmItem<float>>()));
}

// Items of random shapes, some above the small limit, some with nothing to multiply; groups of them beside.
template <class T>
class RandomItems {
 public:
  RandomItems(unsigned seed, int count) : random_(seed) {
    for (int i = 0; i < count; ++i) {
      GemmProblem p;
      p.dtype = dtype_of<T>;
      p.op_a = Op(up_to(2)), p.op_b = Op(up_to(2));
      p.m = up_to(6), p.n = 1 + up_to(3), p.k = up_to(5);
      if (up_to(20) == 0) p.m = 66;
      p.alpha = Scalar(up_to(2)), p.beta = Scalar(up_to(2));
      problems.push_back(packed(p));
      operands.emplace_back(problems.back(), seed + unsigned(i));
    }
  }

  std::vector<GemmItem<T>> items() {
    std::vector<GemmItem<T>> result;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const GemmProblem& p = problems[i];
      TestOperands<T>& x = operands[i];
      result.push_back({p.op_a, p.op_b, p.m, p.n, p.k, x.alpha, x.a.data(), p.lda, x.b.data(), p.ldb, x.beta,
                        x.c.data(), p.ldc});
    }
    return result;
  }

  std::vector<GemmProblem> problems;
  std::vector<TestOperands<T>> operands;

 private:
  int up_to(int last) { return std::uniform_int_distribution<int>(0, last)(random_); }
  std::mt19937 random_;
};

template <class T>
class Variable : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Variable, Types);

TYPED_TEST(Variable, RandomItemsAgreeWithTheReference) {
  using T = TypeParam;
  Context context;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  for (int threads : {1, 2}) {
    RandomItems<T> x(seed, 400);
    std::vector<std::vector<T>> expected;
    for (const auto& operands : x.operands) expected.push_back(operands.expected());
    GemmOptions options;
    options.threads = threads;
    gemm_variable<T>(context, x.items(), options);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(TestOperands<T>::same(x.operands[i].c, expected[i]))
          << i << ": " << to_string(x.problems[i]);
  }
}

TEST(Grouped, GroupsOfOneShapeWithDifferentScalars) {
  Context context;
  const GemmProblem p =
      parse_problem("gemm_batched:f64:nn:m=3,n=3,k=3:pointer:batch=9:alpha=general:beta=general");
  TestOperands<double> x(p);
  std::vector<GemmGroup<double>> groups;
  for (std::int64_t g = 0; g < 3; ++g)
    groups.push_back({Op::none, Op::none, 3, 3, 3, double(g + 2), x.a_pointers.data() + 3 * g, 3,
                      x.b_pointers.data() + 3 * g, 3, double(-g - 2), x.c_pointers.data() + 3 * g, 3, 3});
  std::vector<double> alpha, beta;
  for (int i = 0; i < 9; ++i) alpha.push_back(i / 3 + 2), beta.push_back(-i / 3 - 2);
  TestOperands<double> y = x;
  for (std::size_t i = 0; i < 9; ++i) y.c_pointers[i] = y.c.data() + (x.c_pointers[i] - x.c.data());
  Operands o = y.operands();
  o.alpha = alpha.data(), o.beta = beta.data(), o.alpha_stride = o.beta_stride = 1;
  gemm_reference(p, o);
  gemm_grouped<double>(context, groups);
  EXPECT_TRUE(TestOperands<double>::same(x.c, y.c));
}

TEST(Batched, CallsThroughViewsAgreeWithTheReference) {
  Context context;
  const GemmProblem p =
      parse_problem("gemm_batched:f64:tn:m=5,n=4,k=3:strided:batch=11:stride_a=0:beta=general");
  TestOperands<double> x(p);
  const auto expected = x.expected();
  gemm_batched<double>(context, Op::trans, Op::none, 1.0, {{x.a.data(), 3, 5, 3}, 0, 11},
                       {{x.b.data(), 3, 4, 3}, p.stride_b, 11}, x.beta,
                       StridedBatch<double>{{x.c.data(), 5, 4, 5}, p.stride_c, 11});
  EXPECT_EQ(x.c, expected);

  const GemmProblem q =
      parse_problem("gemm_batched:f32:nn:m=5,n=4,k=3:block_interleaved:batch=11:block=4:beta=1");
  TestOperands<float> y(q);
  const auto expected_y = y.expected();
  gemm_batched<float>(context, Op::none, Op::none, 1.0f, {y.a.data(), 5, 3, 5, 4, 11},
                      {y.b.data(), 3, 4, 3, 4, 11}, 1.0f,
                      InterleavedBatch<float>{y.c.data(), 5, 4, 5, 4, 11});
  for (std::int64_t i = 0; i < 11; ++i)
    for (std::int64_t e = 0; e < 20; ++e) {
      const auto at = std::size_t(i / 4 * 80 + e * 4 + i % 4);
      EXPECT_EQ(y.c[at], expected_y[at]) << i << ' ' << e;
    }
}

}  // namespace
}  // namespace tilewright
