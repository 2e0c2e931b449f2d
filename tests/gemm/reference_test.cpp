// The reference against values worked out by hand and against the definition of each layout written out once
// more here, because everything else is compared with it.
#include "gemm/run/reference.hpp"

#include <gtest/gtest.h>

#include <complex>

#include "core/dispatch.hpp"
#include "support/operands.hpp"

namespace tilewright {
namespace {

TEST(Reference, TwoByTwoByHand) {
  const double a[] = {1, 3, 2, 4}, b[] = {5, 7, 6, 8};  // A = [1 2; 3 4], B = [5 6; 7 8]
  double c[] = {1, 1, 1, 1};
  const double alpha = 2, beta = 10;
  GemmProblem p = parse_problem("gemm:f64:nn:m=2,n=2,k=2:alpha=general:beta=general");
  gemm_reference(p, {a, b, c, &alpha, &beta});
  EXPECT_EQ(std::vector<double>(c, c + 4), (std::vector<double>{48, 96, 54, 110}));
  p.op_a = Op::trans;
  p.alpha = Scalar::one;
  p.beta = Scalar::zero;
  gemm_reference(p, {a, b, c, nullptr, nullptr});
  EXPECT_EQ(std::vector<double>(c, c + 4), (std::vector<double>{26, 38, 30, 44}));
}

TEST(Reference, ConjugatesOnlyWhenAsked) {
  using T = std::complex<double>;
  const T a(1, 2), b(3, 4);
  T c;
  GemmProblem p = parse_problem("gemm:c128:nn:m=1,n=1,k=1");
  const auto product = [&](Op op_a, Op op_b) {
    p.op_a = op_a;
    p.op_b = op_b;
    gemm_reference(p, {&a, &b, &c, nullptr, nullptr});
    return c;
  };
  EXPECT_EQ(product(Op::none, Op::none), a * b);
  EXPECT_EQ(product(Op::trans, Op::none), a * b);
  EXPECT_EQ(product(Op::conj_trans, Op::none), std::conj(a) * b);
  EXPECT_EQ(product(Op::conj_trans, Op::conj_trans), std::conj(a) * std::conj(b));
}

// Element (i, j) of problem p as types.hpp defines it for each layout.
template <class T>
T stored(const GemmProblem& q, const std::vector<T>& data, std::int64_t ld, std::int64_t cols,
         std::int64_t stride, std::int64_t p, std::int64_t i, std::int64_t j) {
  std::int64_t at = j * ld + i;
  if (q.layout == Layout::strided) at += p * stride;
  if (q.layout == Layout::pointer)
    at += (q.batch_count - 1 - p) * (ld * cols + 3);  // as TestOperands lays them
  if (q.layout == Layout::interleaved || q.layout == Layout::block_interleaved)
    at = p / q.block * q.block * ld * cols + (j * ld + i) * q.block + p % q.block;
  return data[std::size_t(at)];
}

template <class T>
T op_of(T value, Op op) {
  if constexpr (is_complex(dtype_of<T>)) return op == Op::conj_trans ? std::conj(value) : value;
  return value;
}

class ReferenceLayouts : public ::testing::TestWithParam<const char*> {};

TEST_P(ReferenceLayouts, FollowTheDefinition) {
  for (DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (Op op_a : {Op::none, Op::trans, Op::conj_trans})
      for (Op op_b : {Op::none, Op::trans, Op::conj_trans})
        dispatch(dtype, [&]<class T>() {
          GemmProblem q;
          q.dtype = dtype;
          q.op_a = op_a;
          q.op_b = op_b;
          q.m = 3, q.n = 4, q.k = 5;
          q.lda = q.a_rows() + 1, q.ldb = q.b_rows() + 2, q.ldc = 5;
          q.layout = parse_problem(std::string("gemm_batched:f64:nn:m=1,n=1,k=1:") + GetParam()).layout;
          q.batch_count = 7;
          q.block = q.layout == Layout::block_interleaved ? 4 : 0;
          q.alpha = q.beta = Scalar::general;
          q = packed(q);
          TestOperands<T> x(q);
          const auto result = x.expected();
          for (std::int64_t p = 0; p < q.batch_count; ++p)
            for (std::int64_t j = 0; j < q.n; ++j)
              for (std::int64_t i = 0; i < q.m; ++i) {
                T sum(0);
                for (std::int64_t l = 0; l < q.k; ++l) {
                  const bool na = op_a == Op::none, nb = op_b == Op::none;
                  const T a = stored(q, x.a, q.lda, q.a_cols(), q.stride_a, p, na ? i : l, na ? l : i);
                  const T b = stored(q, x.b, q.ldb, q.b_cols(), q.stride_b, p, nb ? l : j, nb ? j : l);
                  sum += op_of(a, op_a) * op_of(b, op_b);
                }
                const T old = stored(q, x.c, q.ldc, q.n, q.stride_c, p, i, j);
                EXPECT_EQ(stored(q, result, q.ldc, q.n, q.stride_c, p, i, j), x.alpha * sum + x.beta * old)
                    << to_string(q) << " problem " << p << " (" << i << ", " << j << ")";
              }
        });
}

INSTANTIATE_TEST_SUITE_P(Layouts, ReferenceLayouts,
                         ::testing::Values("strided", "pointer", "interleaved", "block_interleaved"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST(Reference, DoesNotReadWhatItNeedNot) {
  const double nan = not_a_number<double>(), zero = 0, two = 2;
  GemmProblem p = parse_problem("gemm:f64:nn:m=1,n=1,k=1:alpha=general:beta=general");
  const double one = 1;
  double c = nan;
  gemm_reference(p, {&one, &one, &c, &two, &zero});
  EXPECT_EQ(c, 2);
  gemm_reference(p, {nullptr, nullptr, &c, &zero, &two});
  EXPECT_EQ(c, 4);
  p.k = 0;
  gemm_reference(p, {nullptr, nullptr, &c, &two, &two});
  EXPECT_EQ(c, 8);
  p.beta = Scalar::zero;
  c = nan;
  gemm_reference(p, {nullptr, nullptr, &c, &two, nullptr});
  EXPECT_EQ(c, 0);
}

TEST(Reference, RunsAPartOfABatch) {
  const GemmProblem p =
      parse_problem("gemm_batched:f32:nn:m=2,n=2,k=2:block_interleaved:batch=10:block=4:beta=1");
  TestOperands<float> x(p);
  const auto all = x.expected();
  gemm_reference(p, x.operands(), 0, 3);
  EXPECT_FALSE(TestOperands<float>::same(x.c, all));
  gemm_reference(p, x.operands(), 3, 7);
  EXPECT_TRUE(TestOperands<float>::same(x.c, all));
}

}  // namespace
}  // namespace tilewright
