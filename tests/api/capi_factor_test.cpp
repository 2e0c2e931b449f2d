// Batched factorizations through the C interface: each function and each layout of a batch once, infos, and
// bad arguments, which leave outputs alone.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/tilewright.h"

namespace tilewright::testing {
namespace {

tilewright_matrix_batch strided(std::vector<double>& data, std::int64_t rows, std::int64_t cols,
                                std::int64_t count) {
  tilewright_matrix_batch batch = TILEWRIGHT_MATRIX_BATCH_INIT;
  batch.data = data.data(), batch.count = count, batch.rows = rows, batch.cols = cols;
  batch.matrix_stride = rows * cols;
  return batch;
}

class CApiFactor : public ::testing::Test {
 protected:
  void SetUp() override {
    tilewright_context_options options = TILEWRIGHT_CONTEXT_OPTIONS_INIT;
    options.no_notices = 1;
    ASSERT_EQ(tilewright_create_with(&options, &context), TILEWRIGHT_OK);
  }
  void TearDown() override { tilewright_destroy(context); }
  std::string message() const { return tilewright_last_error(context); }
  static void expect_near(const std::vector<double>& values, const std::vector<double>& expected) {
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-13) << i;
  }

  tilewright_context* context = nullptr;
  // By columns: [1 2; 4 3] and [2 0; 0 4].
  std::vector<double> general{1, 4, 2, 3, 2, 0, 0, 4};
  // [4 2; 2 5] = L L^T with L = [2 0; 1 2], and [9 0; 0 1].
  std::vector<double> definite{4, 2, 2, 5, 9, 0, 0, 1};
  std::vector<double> right{5, 10, 2, 8};  // a column for each
  std::vector<int> codes{-7, -7};
};

TEST_F(CApiFactor, Lu) {
  auto a = strided(general, 2, 2, 2), b = strided(right, 2, 1, 2);
  std::vector<double> det(2);
  ASSERT_EQ(tilewright_det_batched(context, TILEWRIGHT_F64, &a, det.data(), nullptr), TILEWRIGHT_OK)
      << message();
  expect_near(det, {-5, 8});
  std::vector<double> inverted(8), solution = right;
  auto inverse = strided(inverted, 2, 2, 2), x = strided(solution, 2, 1, 2);
  ASSERT_EQ(tilewright_inv_batched(context, TILEWRIGHT_F64, &a, &inverse, nullptr, TILEWRIGHT_INFO_ALL,
                                   codes.data()),
            TILEWRIGHT_OK)
      << message();
  expect_near(inverted, {-0.6, 0.8, 0.4, -0.2, 0.5, 0, 0, 0.25});
  EXPECT_EQ(codes, (std::vector{0, 0}));
  ASSERT_EQ(tilewright_gesv_batched(context, TILEWRIGHT_F64, &a, &x, nullptr, TILEWRIGHT_INFO_NONE, nullptr),
            TILEWRIGHT_OK)
      << message();
  expect_near(solution, {1, 2, 1, 2});
  std::vector<int> pivots(4);
  ASSERT_EQ(tilewright_getrf_batched(context, TILEWRIGHT_F64, &a, pivots.data(), nullptr, TILEWRIGHT_INFO_ALL,
                                     codes.data()),
            TILEWRIGHT_OK)
      << message();
  EXPECT_EQ(pivots, (std::vector{2, 2, 1, 2}));
  expect_near(general, {4, 0.25, 3, 1.25, 2, 0, 0, 4});
  ASSERT_EQ(
      tilewright_getrs_batched(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, &a, pivots.data(), &b, nullptr),
      TILEWRIGHT_OK)
      << message();
  expect_near(right, {1, 2, 1, 2});
  ASSERT_EQ(tilewright_getri_batched(context, TILEWRIGHT_F64, &a, pivots.data(), nullptr, TILEWRIGHT_INFO_ANY,
                                     codes.data()),
            TILEWRIGHT_OK)
      << message();
  expect_near(general, inverted);
}

TEST_F(CApiFactor, Cholesky) {
  auto a = strided(definite, 2, 2, 2), b = strided(right, 2, 1, 2);
  std::vector<double> solution = right;
  auto x = strided(solution, 2, 1, 2);
  ASSERT_EQ(tilewright_posv_batched(context, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &a, &x, nullptr,
                                    TILEWRIGHT_INFO_ALL, codes.data()),
            TILEWRIGHT_OK)
      << message();
  const std::vector<double> expected{5. / 16, 30. / 16, 2. / 9, 8};
  expect_near(solution, expected);
  ASSERT_EQ(tilewright_potrf_batched(context, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &a, nullptr,
                                     TILEWRIGHT_INFO_ALL, codes.data()),
            TILEWRIGHT_OK)
      << message();
  expect_near(definite, {2, 1, 2, 2, 3, 0, 0, 1});
  ASSERT_EQ(tilewright_potrs_batched(context, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &a, &b, nullptr),
            TILEWRIGHT_OK)
      << message();
  expect_near(right, expected);
  ASSERT_EQ(tilewright_potri_batched(context, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &a, nullptr,
                                     TILEWRIGHT_INFO_ALL, codes.data()),
            TILEWRIGHT_OK)
      << message();
  expect_near(definite, {5. / 16, -2. / 16, 2, 4. / 16, 1. / 9, 0, 0, 1});
}

TEST_F(CApiFactor, TrianglesByRowsPointersAndInterleaved) {
  // By rows: [2 0; 1 4], with something above the diagonal that is not read, for both problems.
  std::vector<double> triangle{2, 99, 1, 4}, alternating{2, 4, 9, 26};  // b_0 = (2, 9), b_1 = (4, 26)
  auto a = strided(triangle, 2, 2, 2);
  a.row_stride = 2, a.col_stride = 1, a.matrix_stride = 0;
  auto b = strided(alternating, 2, 1, 2);
  b.layout = TILEWRIGHT_BATCH_INTERLEAVED;
  const double alpha = 2;
  const auto solve = [&] {
    return tilewright_trsm_batched(context, TILEWRIGHT_F64, TILEWRIGHT_LEFT, TILEWRIGHT_LOWER,
                                   TILEWRIGHT_NONE, TILEWRIGHT_NON_UNIT, &alpha, &a, &b, nullptr);
  };
  ASSERT_EQ(solve(), TILEWRIGHT_OK) << message();
  expect_near(alternating, {2, 4, 4, 12});
  std::vector<double> first{2, 9}, second{4, 26};
  double* const pointers[] = {first.data(), second.data()};
  b.layout = TILEWRIGHT_BATCH_POINTER;
  b.pointers = reinterpret_cast<void* const*>(pointers);
  ASSERT_EQ(solve(), TILEWRIGHT_OK) << message();
  expect_near(first, {2, 4});
  expect_near(second, {4, 12});
}

TEST_F(CApiFactor, InfosAndOptions) {
  std::vector<std::complex<float>> a(8);  // zero, and the identity
  a[4] = a[7] = 1;
  tilewright_matrix_batch batch = TILEWRIGHT_MATRIX_BATCH_INIT;
  batch.data = a.data(), batch.count = batch.rows = batch.cols = 2, batch.matrix_stride = 4;
  std::vector<std::complex<float>> inverted(8, 7);
  auto inverse = batch;
  inverse.data = inverted.data();
  tilewright_factor_options options = TILEWRIGHT_FACTOR_OPTIONS_INIT;
  options.pivoting = TILEWRIGHT_PIVOTING_NONE, options.threads = 1, options.candidate = "lanes";
  ASSERT_EQ(tilewright_inv_batched(context, TILEWRIGHT_C64, &batch, &inverse, &options, TILEWRIGHT_INFO_ALL,
                                   codes.data()),
            TILEWRIGHT_OK)
      << message();
  EXPECT_EQ(codes, (std::vector{1, 0}));
  EXPECT_EQ(inverted[0], 7.0f);
  EXPECT_EQ(inverted[4], 1.0f);
  ASSERT_EQ(tilewright_getrf_batched(context, TILEWRIGHT_C64, &batch, nullptr, &options, TILEWRIGHT_INFO_ANY,
                                     codes.data()),
            TILEWRIGHT_OK)
      << message();
  EXPECT_EQ(codes[0], 1);
}

TEST_F(CApiFactor, BadArgumentsAreNamedAndLeaveOutputsAlone) {
  const auto before = general;
  const auto refused = [&](const tilewright_matrix_batch* a, int* pivots, const std::string& says) {
    EXPECT_EQ(tilewright_getrf_batched(context, TILEWRIGHT_F64, a, pivots, nullptr, TILEWRIGHT_INFO_ALL,
                                       codes.data()),
              TILEWRIGHT_INVALID_ARGUMENT);
    EXPECT_EQ(message(), says);
    EXPECT_EQ(general, before);
    EXPECT_EQ(codes[0], -7);
  };
  std::vector<int> pivots(4);
  const auto good = strided(general, 2, 2, 2);
  auto a = good;
  refused(nullptr, pivots.data(), "a is null");
  refused(&a, nullptr, "pivots is null");
  a.struct_size = 0;
  refused(&a, pivots.data(),
          "a.struct_size = 0 is not the size of the struct: initialise it by its _INIT macro");
  a = good, a.layout = 3;
  refused(&a, pivots.data(), "a.layout = 3 is not one of strided (0), pointer (1), interleaved (2)");
  a = good, a.data = nullptr;
  refused(&a, pivots.data(), "a.data is null");
  a = good, a.layout = TILEWRIGHT_BATCH_POINTER;
  refused(&a, pivots.data(), "a.pointers is null");
  a = good, a.layout = TILEWRIGHT_BATCH_INTERLEAVED, a.row_stride = 2;
  refused(&a, pivots.data(), "a.row_stride = 2 must be 1 in a batch whose layout is interleaved");
  a = good, a.matrix_stride = 0;
  refused(&a, pivots.data(), "a is written, but its problems lie at stride 0, on one another");
  a = good, a.rows = -1;
  refused(&a, pivots.data(), "a is -1 x 2: sizes must not be negative");
  tilewright_factor_options options = TILEWRIGHT_FACTOR_OPTIONS_INIT;
  options.pivoting = 2;
  EXPECT_EQ(tilewright_getrf_batched(context, TILEWRIGHT_F64, &good, pivots.data(), &options,
                                     TILEWRIGHT_INFO_NONE, nullptr),
            TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(message(), "pivoting = 2 is not one of partial (0), none (1)");
  EXPECT_EQ(tilewright_trsm_batched(context, TILEWRIGHT_F64, TILEWRIGHT_LEFT, TILEWRIGHT_LOWER,
                                    TILEWRIGHT_NONE, TILEWRIGHT_NON_UNIT, nullptr, &good, &good, nullptr),
            TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(message(), "alpha is null");
}

}  // namespace
}  // namespace tilewright::testing
