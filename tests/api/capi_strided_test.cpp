// Batches of several levels and chains through the C interface.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tilewright/tilewright.h"

namespace {

class CApiStrided : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(tilewright_create(nullptr, nullptr, &context), TILEWRIGHT_OK); }
  void TearDown() override { tilewright_destroy(context); }
  std::string last() const { return tilewright_last_error(context); }

  tilewright_status levels(const int64_t* counts, const int64_t* a_strides, const int64_t* b_strides,
                           const int64_t* c_strides, int level_count, double* out,
                           const tilewright_options* options = nullptr) {
    return tilewright_gemm_levels_batched(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 1, 1, 1,
                                          &one, a.data(), 1, a_strides, b.data(), 1, b_strides, &zero, out, 1,
                                          c_strides, level_count, counts, options, TILEWRIGHT_INFO_NONE,
                                          nullptr);
  }

  tilewright_context* context = nullptr;
  const double one = 1, zero = 0;
  const std::vector<double> a{1, 2, 3, 4, 5, 6, 7, 8}, b{10, 20, 30, 40, 50, 60, 70, 80};
};

// Products of numbers, so that every index can be told from the result.
TEST_F(CApiStrided, EveryLevelHasItsStrides) {
  const int64_t counts[] = {2, 3, 2}, sa[] = {1, 2, 0}, sb[] = {0, 1, 4}, sc[] = {6, 1, 3};
  std::vector<double> c(12), wanted(12);
  for (int h = 0; h < 2; ++h)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 2; ++j)
        wanted[std::size_t(6 * j + i + 3 * h)] = a[std::size_t(j + 2 * i)] * b[std::size_t(i + 4 * h)];
  ASSERT_EQ(levels(counts, sa, sb, sc, 3, c.data()), TILEWRIGHT_OK) << last();
  EXPECT_EQ(c, wanted);
  tilewright_options by_rows = {};
  by_rows.row_major = 1;
  std::vector<double> rows(12);
  ASSERT_EQ(levels(counts, sa, sb, sc, 3, rows.data(), &by_rows), TILEWRIGHT_OK) << last();
  EXPECT_EQ(rows, wanted);
  std::vector<double> same(2), strided(2);
  ASSERT_EQ(levels(counts, sa, sb, sc + 1, 1, same.data()), TILEWRIGHT_OK) << last();
  ASSERT_EQ(tilewright_gemm_strided_batched(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 1, 1,
                                            1, &one, a.data(), 1, 1, b.data(), 1, 0, &zero, strided.data(), 1,
                                            1, 2, nullptr, TILEWRIGHT_INFO_NONE, nullptr),
            TILEWRIGHT_OK);
  EXPECT_EQ(same, strided);
}

TEST_F(CApiStrided, PlansTakeAFactorPerProblemIfTheirProblemSaysSo) {
  const char* problem = "gemm_batched:f64:nn:m=1,n=1,k=1:strided:batch=8:alpha=per_problem";
  tilewright_options options = TILEWRIGHT_OPTIONS_INIT;
  options.alpha_per_problem = 1;
  tilewright_plan* plan = nullptr;
  EXPECT_EQ(tilewright_plan_create(context, problem, &options, &plan), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_NE(last().find("options.alpha_per_problem = 1: a plan's problem states it"), std::string::npos);
  EXPECT_EQ(plan, nullptr);
  ASSERT_EQ(tilewright_plan_create(context, problem, nullptr, &plan), TILEWRIGHT_OK) << last();
  const std::vector<double> alpha{0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<double> c(8, -1), wanted;
  for (std::size_t i = 0; i < 8; ++i) wanted.push_back(alpha[i] * a[i] * b[i]);
  EXPECT_EQ(tilewright_plan_run(plan, alpha.data(), a.data(), b.data(), &zero, c.data()), TILEWRIGHT_OK);
  EXPECT_EQ(c, wanted);
  tilewright_plan_destroy(plan);
}

TEST_F(CApiStrided, ChainsRunThroughScratch) {
  tilewright_plan* plan = nullptr;
  ASSERT_EQ(
      tilewright_plan_create(context, "gemm_batched:f64:nn:m=1,n=1,k=1:strided:batch=8", nullptr, &plan),
      TILEWRIGHT_OK);
  std::vector<double> c(8, -1), wanted;
  for (std::size_t i = 0; i < 8; ++i) wanted.push_back(a[i] * b[i] * b[i]);
  tilewright_chain_pass passes[] = {{plan, &one, a.data(), b.data(), &zero, nullptr, 0, 0, 1},
                                    {plan, &one, nullptr, b.data(), &zero, c.data(), 1, 0, 0}};
  tilewright_chain_options options = TILEWRIGHT_CHAIN_OPTIONS_INIT;
  options.threads = 1, options.piece = 3;
  ASSERT_EQ(tilewright_run_chain(context, 8, passes, 2, &options), TILEWRIGHT_OK) << last();
  EXPECT_EQ(c, wanted);
  c.assign(8, -1);
  EXPECT_EQ(tilewright_run_chain(context, 3, passes, 2, nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_NE(last().find("pass 0: count = 3"), std::string::npos) << last();
  passes[1].scratch_a = 2;
  EXPECT_EQ(tilewright_run_chain(context, 8, passes, 2, nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_NE(last().find("pass 1: a = scratch 2"), std::string::npos) << last();
  passes[1].alpha = nullptr;
  EXPECT_EQ(tilewright_run_chain(context, 8, passes, 2, nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_NE(last().find("pass 1: alpha is null"), std::string::npos) << last();
  passes[1].plan = nullptr;
  EXPECT_EQ(tilewright_run_chain(context, 8, passes, 2, nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_NE(last().find("pass 1: plan is null"), std::string::npos) << last();
  EXPECT_EQ(tilewright_run_chain(context, 8, nullptr, 2, nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(tilewright_run_chain(context, 8, passes, -1, nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(tilewright_run_chain(context, 8, nullptr, 0, nullptr), TILEWRIGHT_OK);
  EXPECT_EQ(c, std::vector<double>(8, -1));
  tilewright_plan_destroy(plan);
}

}  // namespace
