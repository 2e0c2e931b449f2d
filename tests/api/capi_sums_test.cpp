// The C interface of sums into one C: the same results as by hand, by columns and by rows, and what is
// refused.
#include <gtest/gtest.h>

#include <string>

#include "tilewright/tilewright.h"

namespace tilewright::testing {
namespace {

class CapiSums : public ::testing::Test {
 protected:
  void SetUp() override {
    tilewright_context_options options{};
    options.no_wisdom = options.no_notices = 1;
    ASSERT_EQ(tilewright_create_with(&options, &context_), TILEWRIGHT_OK);
  }
  void TearDown() override { tilewright_destroy(context_); }
  std::string error() const { return tilewright_last_error(context_); }

  tilewright_context* context_ = nullptr;
  const double one_ = 1, two_ = 2;
  const double a_[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b_[8] = {1, 0, 2, 1, -1, 3, 0, 2};
};

// c += x y, 2 x 2, by columns or by rows.
void add_product(const double* x, const double* y, double* c, bool by_rows) {
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int p = 0; p < 2; ++p)
        c[by_rows ? 2 * i + j : 2 * j + i] +=
            x[by_rows ? 2 * i + p : 2 * p + i] * y[by_rows ? 2 * p + j : 2 * j + p];
}

TEST_F(CapiSums, ABatchIsReduced) {
  for (const int by_rows : {0, 1}) {
    tilewright_options options{};
    options.row_major = by_rows;
    double expected[4] = {2, 2, 2, 2}, c[4] = {1, 1, 1, 1}, pointed[4] = {1, 1, 1, 1};
    add_product(a_, b_, expected, by_rows != 0);
    add_product(a_ + 4, b_ + 4, expected, by_rows != 0);
    ASSERT_EQ(
        tilewright_gemm_strided_batch_reduce(context_, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 2, 2,
                                             2, &one_, a_, 2, 4, b_, 2, 4, &two_, c, 2, 2, &options),
        TILEWRIGHT_OK)
        << error();
    const void *as[] = {a_, a_ + 4}, *bs[] = {b_, b_ + 4};
    ASSERT_EQ(
        tilewright_gemm_pointer_batch_reduce(context_, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 2, 2,
                                             2, &one_, as, 2, bs, 2, &two_, pointed, 2, 2, &options),
        TILEWRIGHT_OK)
        << error();
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(c[i], expected[i]);
      EXPECT_EQ(pointed[i], expected[i]);
    }
  }
}

TEST_F(CapiSums, StacksAreSummedUp) {
  for (const int by_rows : {0, 1})
    for (const bool by_pointers : {false, true}) {
      tilewright_options options{};
      options.row_major = by_rows;
      double expected[8] = {3, 3, 3, 3, 0, 0, 0, 0}, c[8] = {3, 3, 3, 3, 7, 7, 7, 7};
      for (double& x : expected) x = &x < expected + 4 ? 6 : 14;
      const tilewright_stack_offsets offsets[] = {{0, 4, 4}, {4, 0, 0}, {4, 4, 4}};
      tilewright_stack_pointers pointers[3];
      for (int i = 0; i < 3; ++i) {
        const tilewright_stack_offsets& x = offsets[i];
        pointers[i] = {a_ + x.a, b_ + x.b, c + x.c};
        add_product(a_ + x.a, b_ + x.b, expected + x.c, by_rows != 0);
      }
      tilewright_stack stack{};
      stack.m = stack.n = stack.k = stack.lda = stack.ldb = stack.ldc = 2;
      stack.alpha = &one_;
      stack.a = a_, stack.b = b_, stack.c = c;
      (by_pointers ? stack.pointers = pointers, 0 : (stack.offsets = offsets, 0));
      stack.count = 3;
      ASSERT_EQ(tilewright_gemm_stack(context_, TILEWRIGHT_F64, &stack, 1, &two_, &options), TILEWRIGHT_OK)
          << error();
      for (int i = 0; i < 8; ++i) EXPECT_EQ(c[i], expected[i]) << i << " by rows: " << by_rows;
    }
}

}  // namespace
}  // namespace tilewright::testing
