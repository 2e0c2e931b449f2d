// Batched factorizations of matrices in device memory through the C interface: each routine that has a
// kernel, layouts, the queue of the options, and what is refused.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/gpu_fixture.hpp"
#include "tilewright/tilewright.h"

namespace tilewright::testing {
namespace {

class GpuCApiFactor : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    tilewright_context_options options = TILEWRIGHT_CONTEXT_OPTIONS_INIT;
    options.no_notices = 1;
    ASSERT_EQ(tilewright_create_with(&options, &context_), TILEWRIGHT_OK);
    how_.location = TILEWRIGHT_DEVICE, how_.device = device_;
  }
  void TearDown() override { tilewright_destroy(context_); }

  // An array in device memory that lives as long as the test.
  template <class T>
  T* put(const std::vector<T>& from) {
    buffers_.push_back(
        std::make_unique<GpuBuffer>(*gpu_, std::max<std::size_t>(16, from.size() * sizeof(T))));
    T* const to = buffers_.back()->as<T>();
    gpu_->write(to, from.data(), from.size() * sizeof(T));
    return to;
  }
  template <class T>
  std::vector<T> get(const T* from, std::size_t count) const {
    gpu_->synchronize();
    std::vector<T> all(count);
    gpu_->read(all.data(), from, count * sizeof(T));
    return all;
  }
  static tilewright_matrix_batch strided(void* data, std::int64_t rows, std::int64_t cols,
                                         std::int64_t count) {
    tilewright_matrix_batch batch = TILEWRIGHT_MATRIX_BATCH_INIT;
    batch.data = data, batch.count = count, batch.rows = rows, batch.cols = cols;
    batch.matrix_stride = rows * cols;
    return batch;
  }
  void expect_ok(tilewright_status status) const {
    EXPECT_EQ(status, TILEWRIGHT_OK) << tilewright_last_error(context_);
  }
  void expect_refused(tilewright_status status, tilewright_status wanted, const std::string& says) const {
    EXPECT_EQ(status, wanted);
    EXPECT_NE(std::string(tilewright_last_error(context_)).find(says), std::string::npos)
        << tilewright_last_error(context_);
  }
  static void expect_near(const std::vector<double>& values, const std::vector<double>& expected) {
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-13) << i;
  }

  tilewright_context* context_ = nullptr;
  tilewright_factor_options how_ = TILEWRIGHT_FACTOR_OPTIONS_INIT;
  std::vector<std::unique_ptr<GpuBuffer>> buffers_{};
  // By columns: [1 2; 4 3] and [2 0; 0 4]; [4 2; 2 5] = L L^T with L = [2 0; 1 2], and [9 0; 0 1].
  const std::vector<double> general_{1, 4, 2, 3, 2, 0, 0, 4}, definite_{4, 2, 2, 5, 9, 0, 0, 1};
  const std::vector<double> right_{5, 10, 2, 8}, inverted_{-0.6, 0.8, 0.4, -0.2, 0.5, 0, 0, 0.25};
};

TEST_F(GpuCApiFactor, Lu) {
  double *const general = put(general_), *const x = put(right_), *const y = put(right_);
  double *const made = put(std::vector<double>(8)), *const dets = put(std::vector<double>(2));
  int *const codes = put(std::vector<int>{-7, -7}), *const pivots = put(std::vector<int>(4));
  const auto a = strided(general, 2, 2, 2), inverse = strided(made, 2, 2, 2);
  const auto b = strided(x, 2, 1, 2), c = strided(y, 2, 1, 2);
  expect_ok(tilewright_det_batched(context_, TILEWRIGHT_F64, &a, dets, &how_));
  expect_near(get(dets, 2), {-5, 8});
  expect_ok(
      tilewright_inv_batched(context_, TILEWRIGHT_F64, &a, &inverse, &how_, TILEWRIGHT_INFO_ALL, codes));
  expect_near(get(made, 8), inverted_);
  EXPECT_EQ(get(codes, 2), (std::vector{0, 0}));
  expect_ok(tilewright_gesv_batched(context_, TILEWRIGHT_F64, &a, &b, &how_, TILEWRIGHT_INFO_NONE, nullptr));
  expect_near(get(x, 4), {1, 2, 1, 2});
  EXPECT_EQ(get(general, 8), general_);
  expect_ok(
      tilewright_getrf_batched(context_, TILEWRIGHT_F64, &a, pivots, &how_, TILEWRIGHT_INFO_ALL, codes));
  EXPECT_EQ(get(pivots, 4), (std::vector{2, 2, 1, 2}));
  expect_near(get(general, 8), {4, 0.25, 3, 1.25, 2, 0, 0, 4});
  expect_ok(tilewright_getrs_batched(context_, TILEWRIGHT_F64, TILEWRIGHT_NONE, &a, pivots, &c, &how_));
  expect_near(get(y, 4), {1, 2, 1, 2});
  expect_ok(
      tilewright_getri_batched(context_, TILEWRIGHT_F64, &a, pivots, &how_, TILEWRIGHT_INFO_ANY, codes));
  expect_near(get(general, 8), inverted_);
}

TEST_F(GpuCApiFactor, CholeskyAndTriangles) {
  double *const definite = put(definite_), *const x = put(right_), *const y = put(right_);
  const auto a = strided(definite, 2, 2, 2), b = strided(x, 2, 1, 2), c = strided(y, 2, 1, 2);
  const std::vector<double> expected{5. / 16, 30. / 16, 2. / 9, 8};
  expect_ok(tilewright_posv_batched(context_, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &a, &b, &how_,
                                    TILEWRIGHT_INFO_NONE, nullptr));
  expect_near(get(x, 4), expected);
  expect_ok(tilewright_potrf_batched(context_, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &a, &how_,
                                     TILEWRIGHT_INFO_NONE, nullptr));
  expect_near(get(definite, 8), {2, 1, 2, 2, 3, 0, 0, 1});
  expect_ok(tilewright_potrs_batched(context_, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &a, &c, &how_));
  expect_near(get(y, 4), expected);
  const double alpha = 2;  // L Z = 2 X, which lies on the host as options do
  expect_ok(tilewright_trsm_batched(context_, TILEWRIGHT_F64, TILEWRIGHT_LEFT, TILEWRIGHT_LOWER,
                                    TILEWRIGHT_NONE, TILEWRIGHT_NON_UNIT, &alpha, &a, &c, &how_));
  expect_near(get(y, 4), {5. / 16, 55. / 32, 4. / 27, 16});
  expect_ok(tilewright_potri_batched(context_, TILEWRIGHT_F64, TILEWRIGHT_LOWER, &a, &how_,
                                     TILEWRIGHT_INFO_NONE, nullptr));
  expect_near(get(definite, 8), {5. / 16, -2. / 16, 2, 4. / 16, 1. / 9, 0, 0, 1});
}

TEST_F(GpuCApiFactor, PointersOnTheStreamOfTheOptions) {
  double *const general = put(general_), *const x = put(right_);
  auto a = strided(nullptr, 2, 2, 2), b = strided(nullptr, 2, 1, 2);
  a.layout = b.layout = TILEWRIGHT_BATCH_POINTER;
  a.pointers = put(std::vector<void*>{general, general + 4});
  b.pointers = put(std::vector<void*>{x, x + 2});
  const GpuStream stream(*gpu_);
  how_.stream = stream.get();
  const auto solve = [&] {
    expect_ok(
        tilewright_gesv_batched(context_, TILEWRIGHT_F64, &a, &b, &how_, TILEWRIGHT_INFO_NONE, nullptr));
  };
  solve();
  stream.synchronize();
  gpu_->write(x, right_.data(), right_.size() * sizeof(double));
  const long long launches = is_fake() ? fake_count("launch") : 0;
  const GpuGraph graph(*gpu_, stream.get(), solve);  // holds what this stream alone was given
  EXPECT_EQ(get(x, 4), right_);
  graph.launch(stream.get());
  stream.synchronize();
  expect_near(get(x, 4), {1, 2, 1, 2});
  if (is_fake()) {
    EXPECT_EQ(fake_count("launch"), launches + 1);
  }
}

TEST_F(GpuCApiFactor, MatricesWithoutInverseAndWithoutElements) {
  const std::vector<double> kept(8, -1);
  double *const singular = put(std::vector<double>{1, 2, 2, 4, 2, 0, 0, 4}), *const made = put(kept);
  int* const codes = put(std::vector<int>{-7, -7});
  const auto a = strided(singular, 2, 2, 2), inverse = strided(made, 2, 2, 2);
  expect_ok(
      tilewright_inv_batched(context_, TILEWRIGHT_F64, &a, &inverse, &how_, TILEWRIGHT_INFO_ALL, codes));
  EXPECT_EQ(get(codes, 2), (std::vector{2, 0}));
  expect_near(get(made, 8), {-1, -1, -1, -1, 0.5, 0, 0, 0.25});
  const auto none = strided(nullptr, 0, 0, 2);
  expect_ok(
      tilewright_getrf_batched(context_, TILEWRIGHT_F64, &none, nullptr, &how_, TILEWRIGHT_INFO_ALL, codes));
  EXPECT_EQ(get(codes, 2), (std::vector{0, 0}));
  expect_ok(tilewright_det_batched(context_, TILEWRIGHT_F64, &none, made, &how_));
  EXPECT_EQ(get(made, 2), (std::vector{1.0, 1.0}));
}

TEST_F(GpuCApiFactor, WhatIsRefused) {
  double* const general = put(general_);
  const auto a = strided(general, 2, 2, 2), huge = strided(general, 20000, 20000, 1);
  const auto inverse = [&](const tilewright_matrix_batch& x) {
    return tilewright_inv_batched(context_, TILEWRIGHT_F64, &x, &x, &how_, TILEWRIGHT_INFO_NONE, nullptr);
  };
  expect_refused(inverse(huge), TILEWRIGHT_UNSUPPORTED,
                 "no candidate computes inv of 20000 x 20000 matrices: ");
  expect_refused(tilewright_geqrf_batched(context_, TILEWRIGHT_F64, &a, general, &how_),
                 TILEWRIGHT_UNSUPPORTED, "has no kernel of geqrf");
  how_.candidate = "lanes";
  expect_refused(inverse(a), TILEWRIGHT_INVALID_ARGUMENT, "candidate = 'lanes' is not one of ");
  how_.candidate = nullptr, how_.location = 2;
  expect_refused(inverse(a), TILEWRIGHT_INVALID_ARGUMENT, "location = 2 is not one of host (0), device (1)");
  EXPECT_EQ(get(general, 8), general_);
}

}  // namespace
}  // namespace tilewright::testing
