// Batched factorizations through the C interface: each function and each layout of a batch once, infos, and
// bad arguments, which leave outputs alone.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
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
  a = good, a.matrix_stride = 3;
  refused(
      &a, pivots.data(),
      "a is written, but its stride = 3 has no room for the 4 elements that one matrix spans: neighbouring "
      "problems would overlap");
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

TEST_F(CApiFactor, ArraysOfNoNumbersMayBeNull) {
  for (const auto [rows, cols, count] : {std::array<std::int64_t, 3>{0, 0, 2}, {2, 2, 0}}) {
    tilewright_matrix_batch a = TILEWRIGHT_MATRIX_BATCH_INIT;
    a.rows = rows, a.cols = cols, a.count = count, a.matrix_stride = 4;
    codes = {-7, -7};
    EXPECT_EQ(tilewright_getrf_batched(context, TILEWRIGHT_F64, &a, nullptr, nullptr, TILEWRIGHT_INFO_ALL,
                                       codes.data()),
              TILEWRIGHT_OK)
        << message();
    EXPECT_EQ(codes, std::vector(2, count == 0 ? -7 : 0));
    EXPECT_EQ(tilewright_getrs_batched(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, &a, nullptr, &a, nullptr),
              TILEWRIGHT_OK)
        << message();
    EXPECT_EQ(tilewright_geqrf_batched(context, TILEWRIGHT_F64, &a, nullptr, nullptr), TILEWRIGHT_OK)
        << message();
    EXPECT_EQ(tilewright_syev_batched(context, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &a, nullptr, nullptr,
                                      nullptr, TILEWRIGHT_INFO_NONE, nullptr),
              TILEWRIGHT_OK)
        << message();
  }
  const auto none = strided(general, 0, 0, 2);  // their determinants are numbers: 1
  EXPECT_EQ(tilewright_det_batched(context, TILEWRIGHT_F64, &none, nullptr, nullptr),
            TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(message(), "det is null");
}

TEST_F(CApiFactor, QrAndLeastSquares) {
  // By columns: [3 1; 4 2; 0 2] and its double; Q^H of (5, 10, 2) starts with R x.
  std::vector<double> tall{3, 4, 0, 1, 2, 2, 6, 8, 0, 2, 4, 4}, sides{5, 10, 2, 5, 10, 2}, tau(4), x = sides;
  auto a = strided(tall, 3, 2, 2), b = strided(sides, 3, 1, 2), solution = strided(x, 3, 1, 2);
  ASSERT_EQ(tilewright_gels_batched(context, TILEWRIGHT_F64, &a, &solution, nullptr, TILEWRIGHT_INFO_ALL,
                                    codes.data()),
            TILEWRIGHT_OK)
      << message();
  EXPECT_EQ(codes, (std::vector{0, 0}));
  ASSERT_EQ(tilewright_geqrf_batched(context, TILEWRIGHT_F64, &a, tau.data(), nullptr), TILEWRIGHT_OK)
      << message();
  ASSERT_EQ(tilewright_ormqr_batched(context, TILEWRIGHT_F64, TILEWRIGHT_TRANS, &a, tau.data(), &b, nullptr),
            TILEWRIGHT_OK)
      << message();
  for (std::size_t p = 0; p < 2; ++p) {
    const double scale = p == 0 ? 1 : 2, *const r = &tall[p * 6], *const qb = &sides[p * 3];
    EXPECT_NEAR(r[0], -5 * scale, 1e-13);
    EXPECT_NEAR(r[3], -2.2 * scale, 1e-13);
    EXPECT_NEAR(std::abs(r[4]), std::sqrt(9 - 2.2 * 2.2) * scale, 1e-13);
    EXPECT_NEAR(r[4] * x[p * 3 + 1], qb[1], 1e-13);
    EXPECT_NEAR(r[0] * x[p * 3] + r[3] * x[p * 3 + 1], qb[0], 1e-13);
    EXPECT_NEAR(std::abs(x[p * 3 + 2]), std::abs(qb[2]), 1e-13);
  }
}

TEST_F(CApiFactor, Eigenvalues) {
  // [1 2; 2 1] has -1 and 3, with columns of equal size, and diag(9, 1).
  std::vector<double> symmetric{1, 2, 99, 1, 9, 0, 99, 1}, values(4), alone(4), vectors(8);
  auto a = strided(symmetric, 2, 2, 2), v = strided(vectors, 2, 2, 2);
  ASSERT_EQ(tilewright_syev_batched(context, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &a, values.data(), &v, nullptr,
                                    TILEWRIGHT_INFO_ALL, codes.data()),
            TILEWRIGHT_OK)
      << message();
  EXPECT_EQ(codes, (std::vector{0, 0}));
  expect_near(values, {-1, 3, 1, 9});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(std::abs(vectors[i]), std::sqrt(0.5), 1e-13);
  EXPECT_NEAR(vectors[0] * vectors[2] + vectors[1] * vectors[3], 0, 1e-13);
  EXPECT_NEAR(std::abs(vectors[5]), 1, 1e-13);
  ASSERT_EQ(tilewright_syev_batched(context, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &a, alone.data(), nullptr,
                                    nullptr, TILEWRIGHT_INFO_NONE, nullptr),
            TILEWRIGHT_OK)
      << message();
  expect_near(alone, values);
}

TEST_F(CApiFactor, SingularValues) {
  // By columns: [0 3 0; -2 0 0], and zero.
  std::vector<std::complex<float>> wide{0, -2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}, u(8), vh(12);
  tilewright_matrix_batch a = TILEWRIGHT_MATRIX_BATCH_INIT;
  a.data = wide.data(), a.count = a.rows = 2, a.cols = 3, a.matrix_stride = 6;
  auto left = a, right_vectors = a;
  left.data = u.data(), left.cols = 2, left.matrix_stride = 4;
  right_vectors.data = vh.data();
  std::vector<float> values(4, -7), alone(4, -7);
  ASSERT_EQ(tilewright_gesvd_batched(context, TILEWRIGHT_C64, &a, values.data(), &left, &right_vectors,
                                     nullptr, TILEWRIGHT_INFO_ALL, codes.data()),
            TILEWRIGHT_OK)
      << message();
  EXPECT_EQ(codes, (std::vector{0, 0}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(values[i], i == 0 ? 3 : 2, 1e-6);
    EXPECT_EQ(values[2 + i], 0);
    for (std::size_t j = 0; j < 3; ++j) {
      const auto product = u[i] * values[0] * vh[2 * j] + u[2 + i] * values[1] * vh[2 * j + 1];
      EXPECT_NEAR(std::abs(product - wide[2 * j + i]), 0, 1e-5) << i << j;
    }
  }
  ASSERT_EQ(tilewright_gesvd_batched(context, TILEWRIGHT_C64, &a, alone.data(), nullptr, nullptr, nullptr,
                                     TILEWRIGHT_INFO_NONE, nullptr),
            TILEWRIGHT_OK)
      << message();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(alone[i], values[i], 1e-5);
}

TEST_F(CApiFactor, BadArgumentsOfDecompositionsAreNamed) {
  const auto before = general;
  auto a = strided(general, 2, 2, 2), wide = strided(general, 1, 2, 2), right_side = strided(right, 2, 1, 2);
  std::vector<double> values(4, -7), made(8, -7);
  auto u = strided(made, 2, 2, 2);
  const auto refused = [&](tilewright_status status, const std::string& says) {
    EXPECT_EQ(status, TILEWRIGHT_INVALID_ARGUMENT);
    EXPECT_EQ(message(), says);
    EXPECT_EQ(general, before);
    EXPECT_EQ(values, std::vector<double>(4, -7));
    EXPECT_EQ(made, std::vector<double>(8, -7));
  };
  refused(tilewright_geqrf_batched(context, TILEWRIGHT_F64, &a, nullptr, nullptr), "tau is null");
  refused(tilewright_ormqr_batched(context, TILEWRIGHT_C128, TILEWRIGHT_TRANS, &right_side, values.data(),
                                   &right_side, nullptr),
          "op = trans, but Q or its conjugate transpose is applied: none or conj_trans");
  refused(tilewright_gels_batched(context, TILEWRIGHT_F64, &wide, &u, nullptr, TILEWRIGHT_INFO_NONE, nullptr),
          "a is 1 x 2, but must have at least as many rows as columns");
  refused(tilewright_syev_batched(context, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &wide, values.data(), nullptr,
                                  nullptr, TILEWRIGHT_INFO_NONE, nullptr),
          "a is 1 x 2, but must be square");
  refused(tilewright_gesvd_batched(context, TILEWRIGHT_F64, &a, values.data(), &u, nullptr, nullptr,
                                   TILEWRIGHT_INFO_NONE, nullptr),
          "vh is null");
  u.count = 1;
  refused(tilewright_gesvd_batched(context, TILEWRIGHT_F64, &a, values.data(), &u, &u, nullptr,
                                   TILEWRIGHT_INFO_NONE, nullptr),
          "u has 1 problems, but a has 2");
}

}  // namespace
}  // namespace tilewright::testing
