// Bad arguments of the C++ functions: each gives one error that names the argument and its value, and C stays
// as it was. What the functions compute from good arguments is checked here for grouped and variable batches.
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

TEST(Validate, OptionsOfNoKnownValueAreNamed) {
  Context context({.use_wisdom = false, .notices = false});
  const GemmProblem p = parse_problem("gemm:f64:nn:m=8,n=6,k=4");
  const auto refused = [&](auto GemmOptions::*member, auto value, const std::string& argument,
                           const std::string& says) {
    GemmOptions options;
    options.*member = value;
    try {
      plan(context, p, options);
      ADD_FAILURE() << argument;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      EXPECT_EQ(error.argument(), argument) << error.what();
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  using O = GemmOptions;
  refused(&O::target, static_cast<Target>(9), "target", "target = 9");
  refused(&O::split, static_cast<SplitRule>(9), "split", "split = 9");
  refused(&O::objective, static_cast<Objective>(9), "objective", "objective = 9");
  refused(&O::math_mode, static_cast<MathMode>(9), "math_mode", "math_mode = 9");
  refused(&O::arrival, static_cast<Arrival>(9), "arrival", "arrival = 9");
  refused(&O::residency, static_cast<Residency>(9), "residency", "residency = 9");
  refused(&O::on_device_failure, static_cast<OnDeviceFailure>(9), "on_device_failure",
          "on_device_failure = 9");
  refused(&O::learn, static_cast<Learn>(9), "learn", "learn = 9");
  refused(&O::queue, Queue{.device = -1}, "device", "device = -1");
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

TEST(Validate, NamesTheFirstBadField) {
  const GemmProblem good = parse_problem("gemm_batched:f64:nn:m=8,n=6,k=4:strided:batch=10");
  EXPECT_FALSE(find_fault(good));
  const auto with = [&](auto member, auto value) {
    GemmProblem p = good;
    p.*member = value;
    return p;
  };
  using P = GemmProblem;
  expect_fault(with(&P::op_a, static_cast<Op>(7)), "op_a", "op_a = 7");
  expect_fault(with(&P::dtype, static_cast<DType>(9)), "dtype", "dtype = 9");
  expect_fault(with(&P::layout, static_cast<Layout>(9)), "layout", "layout = 9");
  expect_fault(with(&P::location, static_cast<Location>(5)), "location", "location = 5");
  expect_fault(with(&P::alpha, static_cast<Scalar>(8)), "alpha", "alpha = 8");
  expect_fault(with(&P::beta, static_cast<Scalar>(4)), "beta", "beta = 4");
  expect_fault(with(&P::residency, static_cast<Residency>(8)), "residency", "residency = 8");
  expect_fault(with(&P::m, -1), "m", "m = -1 is negative");
  expect_fault(with(&P::n, -2), "n", "n = -2 is negative");
  expect_fault(with(&P::k, -3), "k", "k = -3 is negative");
  expect_fault(with(&P::lda, 3), "lda", "lda = 3 is smaller than the 8 rows of A");
  expect_fault(with(&P::ldb, 3), "ldb", "ldb = 3 is smaller than the 4 rows of B");
  expect_fault(with(&P::ldc, 7), "ldc", "ldc = 7 is smaller than the 8 rows of C");
  expect_fault(with(&P::batch_count, -1), "batch_count", "batch_count = -1 is negative");
  expect_fault(with(&P::stride_a, -8), "stride_a", "stride_a = -8 is negative");
  expect_fault(with(&P::stride_b, -8), "stride_b", "stride_b = -8 is negative");
  expect_fault(with(&P::stride_c, 47), "stride_c", "stride_c = 47 is smaller than the 48 elements");
  expect_fault(with(&P::stride_c, 0), "stride_c", "overlap");
  expect_fault(with(&P::lda, std::int64_t(1) << 61), "lda", "lda = 2305843009213693952 makes A span");
  expect_fault(with(&P::batch_count, std::int64_t(1) << 60), "batch_count",
               "makes A span more than 2^62 bytes");
  // 2^62 strides of 2^62 elements of 16 bytes are 2^128, which 128 bits hold as nothing.
  P far = with(&P::dtype, DType::c128);
  far.batch_count = (std::int64_t(1) << 62) + 1;
  far.stride_a = far.stride_b = far.stride_c = std::int64_t(1) << 62;
  expect_fault(far, "batch_count", "batch_count = 4611686018427387905 makes A span more than 2^62 bytes");
}

TEST(Validate, BlocksAndCounts) {
  GemmProblem p = parse_problem("gemm_batched:f64:nn:m=2,n=2,k=2:block_interleaved:batch=10:block=4");
  EXPECT_FALSE(find_fault(p));
  p.block = 0;
  expect_fault(p, "block", "block = 0");
  p.layout = Layout::interleaved;
  p.block = 4;
  expect_fault(p, "block", "one block of all 10 problems");
  GemmProblem single = parse_problem("gemm:f64:nn:m=2,n=2,k=2");
  single.batch_count = 2;
  expect_fault(single, "batch_count", "batch_count = 2");
}

TEST(Validate, AllowsWhatIsOnlyUnusual) {
  EXPECT_FALSE(find_fault(parse_problem("gemm_batched:f64:nn:m=8,n=6,k=4:strided:batch=1:stride_c=0")));
  EXPECT_FALSE(
      find_fault(parse_problem("gemm_batched:f64:nn:m=8,n=6,k=4:strided:batch=9:stride_a=0:stride_b=1")));
  EXPECT_FALSE(find_fault(parse_problem("gemm_batched:f64:nn:m=0,n=0,k=0:strided:batch=0")));
  EXPECT_FALSE(
      find_fault(parse_problem("gemm_batched:f64:nn:m=8,n=1,k=4:strided:batch=9:ldc=20:stride_c=8")));
}

struct Square {
  std::vector<double> data = std::vector<double>(16, -1);
  bool untouched() const { return data == std::vector<double>(16, -1); }
};

TEST(BadCalls, LeaveCUntouched) {
  Context context;
  Square a, b, c;
  const MatrixView<double> good{a.data.data(), 4, 4, 4}, out{c.data.data(), 4, 4, 4};
  const auto refused = [&](const char* argument, const char* part, auto&& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown for " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_EQ(error.argument(), argument) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
    EXPECT_TRUE(c.untouched());
  };
  const auto call = [&](MatrixView<double> va, MatrixView<double> vb, MatrixView<double> vc) {
    return [=, &context] { gemm<double>(context, Op::none, Op::trans, 1.0, va, vb, 0.0, vc); };
  };
  refused("lda", "lda = 3 is smaller than the 4 rows of A", call({a.data.data(), 4, 4, 3}, good, out));
  refused("a", "a is 3 x 4 as stored, but op_a = n and the 4 rows of c need 4 x 4",
          call({a.data.data(), 3, 4, 4}, good, out));
  refused("b", "b is 4 x 3 as stored, but op_b = t, k = 4", call(good, {b.data.data(), 4, 3, 4}, out));
  refused("m", "m = -4", call(good, good, {c.data.data(), -4, 4, 4}));
  refused("a", "null", call({nullptr, 4, 4, 4}, good, out));
  refused("c", "null", call(good, good, {nullptr, 4, 4, 4}));

  const auto strided = [&](StridedBatch<double> va, StridedBatch<double> vc) {
    return [=, &context] { gemm_batched<double>(context, Op::none, Op::none, 1.0, va, va, 0.0, vc); };
  };
  refused("count", "2, 2, 3", strided({{a.data.data(), 2, 2, 2}, 4, 2}, {{c.data.data(), 2, 2, 2}, 4, 3}));
  refused("stride_c", "overlap", strided({{a.data.data(), 2, 2, 2}, 4, 3}, {{c.data.data(), 2, 2, 2}, 3, 3}));
  refused("count", "-1", strided({{a.data.data(), 2, 2, 2}, 4, -1}, {{c.data.data(), 2, 2, 2}, 4, -1}));
  refused("block", "2, 2, 1", [&] {
    const InterleavedBatch<double> va{a.data.data(), 2, 2, 2, 2, 2};
    gemm_batched<double>(context, Op::none, Op::none, 1.0, va, va, 0.0,
                         InterleavedBatch<double>{c.data.data(), 2, 2, 2, 1, 2});
  });
  refused("values", "null", [&] {
    const StridedBatch<double> v{{a.data.data(), 2, 2, 2}, 4, 2};
    gemm_batched<double>(context, Op::none, Op::none,
                         BatchScalar<double>(static_cast<const double*>(nullptr)), v, v, 0.0, v);
  });
}

TEST(BadCalls, EmptyOnesDoNothing) {
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
