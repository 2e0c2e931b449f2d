// The check of rows and columns: in every layout the library's reference passes and a wrong element does not;
// of large products ends and gaps are among what is looked at.
#include "measure/check_sampled.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "gemm/run/reference.hpp"
#include "measure/typed_values.hpp"
#include "support/cases.hpp"

namespace tilewright {
namespace {

TEST(SampledCheck, AcceptsTheReferenceAndSeesOneWrongElement) {
  for (const DType dtype : cases::dtypes)
    for (const Layout layout :
         {Layout::strided, Layout::pointer, Layout::interleaved, Layout::block_interleaved})
      for (const Scalar beta : {Scalar::zero, Scalar::one}) {
        GemmProblem problem = cases::strided(dtype, {3, 4, 5}, beta, 9);
        problem.layout = layout;
        problem.stride_a = problem.stride_b = problem.stride_c = 0;
        problem.block = layout == Layout::block_interleaved ? 4 : layout == Layout::interleaved ? 9 : 0;
        problem = packed(problem);
        Arena arena;
        const OperandSet set(arena, problem, 2, Data::uniform, PointerOrder::random);
        const Operands operands = set.batch(1);
        const SampledCheck check(problem, operands, 1, beta == Scalar::zero ? 0 : 1);
        const auto reference = [&] { gemm_reference(problem, operands); };
        EXPECT_EQ(check.check(reference).fault(), "") << to_string(problem);
        EXPECT_FALSE(check.check([] {}).passed()) << "C as it was cannot be right: " << to_string(problem);
        const auto flip = [&] {
          reference();
          auto* c = static_cast<unsigned char*>(
              layout == Layout::pointer ? static_cast<void* const*>(operands.c)[0] : operands.c);
          c[size_bytes(dtype) - 1] ^= 0x40;
        };
        EXPECT_FALSE(check.check(flip).passed()) << to_string(problem);
      }
}

template <class T>
Deviation deviation_of(T got, std::complex<double> exact, double size) {
  return deviation(got, Exact<T>{static_cast<typename WideOf<T>::type>(value_from<T>(exact)), size}, 3);
}

TEST(Deviation, WantsWhatIsNoNumberToBeTheSame) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(deviation_of(nan, nan, nan).not_finite);
  EXPECT_TRUE(deviation_of(infinity, infinity, infinity).not_finite);
  EXPECT_TRUE(deviation_of(-infinity, -infinity, infinity).not_finite);
  for (const float wrong : {1.f, nan, -infinity}) {
    const Deviation d = deviation_of(wrong, infinity, infinity);
    EXPECT_FALSE(d.not_finite || d.error <= d.bound) << wrong;
  }
  for (const float wrong : {1.f, infinity}) {
    const Deviation d = deviation_of(wrong, nan, nan);
    EXPECT_FALSE(d.not_finite || d.error <= d.bound) << wrong;
  }
  // A sum that a float cannot hold is infinite; one whose parts it cannot hold may be anything.
  EXPECT_TRUE(deviation(infinity, Exact<float>{1e39, 1e39}, 3).not_finite);
  EXPECT_TRUE(deviation(nan, Exact<float>{1, 1e39}, 3).unbounded);
  EXPECT_FALSE(deviation(nan, Exact<float>{1, 1}, 3).unbounded);
  const std::complex<float> half_nan(1, nan), other_half(infinity, 1), number(1, 1);
  EXPECT_TRUE(deviation_of(other_half, half_nan, nan).not_finite);
  EXPECT_FALSE(deviation_of(number, half_nan, nan).not_finite);
}

// Crossings of rows and columns, since all elements would be too many.
TEST(SampledCheck, LooksAtTheEndsOfLargeProducts) {
  GemmProblem problem = cases::strided(DType::f32, {150, 140, 60}, Scalar::one, 3);
  problem.op_a = Op::trans;
  problem.lda = problem.ldc = 160;
  problem.stride_a = problem.stride_b = problem.stride_c = 0;
  problem = packed(problem);
  EXPECT_LT(sample_of(problem).rows.size(), 60u);
  Arena arena;
  const OperandSet set(arena, problem, 1);
  const Operands operands = set.batch(0);
  const SampledCheck check(problem, operands, 1, 1);
  const std::int64_t last = problem.stride_c * 2 + problem.ldc * (problem.n - 1) + problem.m - 1;
  auto* const c = static_cast<float*>(operands.c);
  const float before = c[last];
  const auto written = [&](std::int64_t element) {
    return check.check([&] {
      gemm_reference(problem, operands);
      if (element >= 0) c[element] = 99;
    });
  };
  const Accuracy right = written(-1);
  EXPECT_EQ(right.fault(), "");
  EXPECT_GT(right.rms, 0);
  EXPECT_EQ(c[last], before);
  const Accuracy wrong = written(last);
  EXPECT_EQ(wrong.problem_index, 2);
  EXPECT_EQ(wrong.row, problem.m - 1);
  EXPECT_EQ(wrong.column, problem.n - 1);
  EXPECT_EQ(wrong.got, 99.0);
  EXPECT_FALSE(written(problem.m).gaps_intact);
  EXPECT_THROW(check.check([&] { c[last] = 99, throw 1; }), int);
  EXPECT_EQ(c[last], before) << "put back all the same";
}

TEST(Places, AreSoManyWithBothEnds) {
  EXPECT_EQ(places(3, 12), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(places(4, 2), (std::vector<std::int64_t>{0, 3}));
  for (const std::int64_t size : {49, 50, 1000, 1000000}) {
    const auto chosen = places(size, 48);
    EXPECT_EQ(chosen.front(), 0);
    EXPECT_EQ(chosen.back(), size - 1);
    EXPECT_EQ(std::adjacent_find(chosen.begin(), chosen.end(), std::greater_equal<>()), chosen.end());
    EXPECT_GE(chosen.size(), 48u);
    EXPECT_LE(chosen.size(), 50u);
  }
}

}  // namespace
}  // namespace tilewright
