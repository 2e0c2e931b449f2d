// LU of matrices in host memory by GPUs: columns that arrive late, rows that leave early, blocks shared out
// among GPUs, faults in the middle.
#include <fmt/format.h>

#include <optional>

#include "core/dispatch.hpp"
#include "device/gpu/copies.hpp"
#include "far_columns.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"
#include "lu/calls.hpp"
#include "lu/device/streamed.hpp"
#include "lu/device/tools.hpp"
#include "lu/reference.hpp"
#include "support/gpu_fixture.hpp"

namespace tilewright::testing {
namespace {

class GpuLuHost : public GpusTest {
 protected:
  StreamDevice& device(int ordinal) {
    std::unique_ptr<StreamDevice>& one = devices_[ordinal];
    if (one == nullptr) one = make_cuda_device(ordinal, {});
    return *one;
  }

  // `column_s`: of the link; slow ones have columns arrive one block at a time.
  template <class T>
  StreamedLuReport factor(LuMatrixOf<T>& a, std::vector<std::int64_t>& pivots, std::int64_t nb, int gpus,
                          bool pinned, double column_s) {
    pivots.assign(std::size_t(std::min(a.rows, a.cols)), -1);
    StreamedLuJob job;
    job.dtype = dtype_of<T>, job.m = a.rows, job.n = a.cols, job.lda = a.ld, job.nb = nb;
    job.a = a.data.data(), job.pivots = pivots.data(), job.pinned = pinned, job.copiers = &team_;
    job.product.s_per_product = 1e-12;
    const double byte_s = column_s / double(a.rows * std::int64_t(sizeof(T)));
    for (int i = 0; i < gpus; ++i) {
      const int ordinal = usable_[std::size_t(i)];
      for (int j = 0; j < i; ++j) {
        EXPECT_TRUE(device(ordinal).reaches(device(usable_[std::size_t(j)])));
        EXPECT_TRUE(device(usable_[std::size_t(j)]).reaches(device(ordinal)));
      }
      job.gpus.push_back({&device(ordinal),
                          LuMachines::of(Access::impl(context_)).tools(ordinal),
                          {0, byte_s},
                          {0, byte_s}});
    }
    StreamedLuReport report;
    std::optional<RegisteredMemory> memory;
    if (pinned) memory.emplace(*gpu_, a.data.data(), a.data.size() * sizeof(T));
    factor_streamed(job, report);
    return report;
  }

  template <class T>
  void expect_right(const LuMatrixOf<T>& a, std::int64_t nb, int gpus, bool pinned, double column_s) {
    const auto what = fmt::format("{} {} x {} nb {} on {} GPUs {} {}", to_string(dtype_of<T>), a.rows, a.cols,
                                  nb, gpus, pinned ? "pinned" : "pageable", column_s);
    LuMatrixOf<T> lu = a, expected = a;
    std::vector<std::int64_t> pivots, right(std::size_t(std::min(a.rows, a.cols)));
    const std::int64_t info =
        factor_reference(a.rows, a.cols, expected.data.data(), expected.ld, right.data());
    const StreamedLuReport report = factor(lu, pivots, nb, gpus, pinned, column_s);
    EXPECT_EQ(report.info, info) << what;
    EXPECT_EQ(pivots, right) << what;
    EXPECT_LT(factor_ratio(a, lu, pivots), 3) << what;
    EXPECT_TRUE(lu.guards_stand()) << what;
    EXPECT_TRUE(report.wrote) << what;
  }

  std::map<int, std::unique_ptr<StreamDevice>> devices_;
  Workers team_{1};
  Context context_{{.use_wisdom = false, .notices = false}};
};

TEST_F(GpuLuHost, EveryShapeTypeAndPlace) {
  int draw = 0;
  for (const DType dtype : {DType::f64, DType::f32, DType::c64, DType::c128})
    for (const auto& [m, n] : {std::pair(130, 130), {150, 70}, {60, 170}, {33, 33}, {1, 1}, {1, 40}, {40, 1}})
      for (const int gpus : {1, 2, 3}) {
        if (gpus > int(usable_.size())) continue;
        const std::int64_t nb = draw % 2 == 0 ? 16 : 24;
        const double column_s = draw % 3 == 0 ? 1e-7 : draw % 3 == 1 ? 2e-5 : 1;
        dispatch(dtype, [&]<class T>() {
          expect_right(make_matrix<T>(LuKind::random, m, n, draw % 4, unsigned(draw)), nb, gpus, draw % 5 < 3,
                       column_s);
        });
        ++draw;
      }
}

TEST_F(GpuLuHost, KindsThatAreHard) {
  for (const LuKind kind : lu_kinds)
    for (const int gpus : {1, 2})
      if (gpus <= int(usable_.size()) && kind != LuKind::nearly_singular)
        expect_right(make_matrix<double>(kind, 90, 90, 1), 16, gpus, gpus == 1, 1e-5);
}

TEST_F(GpuLuHost, TheCallTakesGpusThatAreAskedFor) {
  const auto a = make_matrix<double>(LuKind::random, 300, 300, 3);
  auto lu = a;
  std::vector<std::int64_t> pivots(300);
  LuOptions options = lu_options("", Target::gpu);
  const LuReport report = lu_factor(context_, 300, 300, lu.data.data(), lu.ld, pivots.data(), options);
  EXPECT_EQ(report.candidate, "streamed");
  EXPECT_EQ(report.gpus, 1);
  EXPECT_FALSE(report.pinned);
  EXPECT_LT(factor_ratio(a, lu, pivots), 3);
  EXPECT_TRUE(lu.guards_stand());
  const std::string text = explain_lu(context_, {DType::f64, 300, 300, 303}, options);
  EXPECT_NE(text.find("streamed: taken"), std::string::npos) << text;
}

TEST_F(GpuLuHost, ACallIsDecidedOnce) {
  const auto a = make_matrix<double>(LuKind::random, 300, 300, 3);
  std::vector<std::int64_t> pivots(300);
  const auto asked = [&] { return Access::impl(context_).hybrid->models_asked(); };
  for (const char* candidate : {"", "streamed"}) {
    auto lu = a;
    const std::int64_t before = asked();
    lu_factor(context_, 300, 300, lu.data.data(), lu.ld, pivots.data(), lu_options(candidate, Target::gpu));
    EXPECT_EQ(asked(), before + 1) << candidate;
  }
  const std::int64_t before = asked();
  (void)explain_lu(context_, {DType::f64, 300, 300, 300}, lu_options("", Target::gpu));
  EXPECT_EQ(asked(), before + 1);
}

TEST_F(GpuLuHost, WhatDoesNotFitIsSharedWithTheCpu) {
  LuOptions options = lu_options("streamed", Target::gpu);
  options.gpu_memory_bytes = 1 << 20;
  auto a = make_matrix<double>(LuKind::random, 400, 400);
  const auto before = a.data;
  std::vector<std::int64_t> pivots(400);
  try {
    lu_factor(context_, 400, 400, a.data.data(), a.ld, pivots.data(), options);
    ADD_FAILURE() << "a matrix above the cap was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("needs memory for the whole matrix"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(a.data, before);
}

// Whenever a copy fails or the device is lost, the call says so, or the CPU begins anew.
TEST_F(GpuLuHost, FaultsAreToldOfOrMadeGood) {
  if (!is_fake()) GTEST_SKIP() << "faults are ordered from the fake driver alone";
  const auto a = make_matrix<double>(LuKind::random, 200, 200);
  for (const char* fault : {"TILEWRIGHT_FAKE_LOST_AFTER", "TILEWRIGHT_FAKE_FAILING_COPY"})
    for (const int after : {1, 2, 3}) {
      for (const OnDeviceFailure wanted : {OnDeviceFailure::error, OnDeviceFailure::redo}) {
        const bool lost = std::string(fault) == "TILEWRIGHT_FAKE_LOST_AFTER";
        const auto at = std::to_string(fake_count(lost ? "copy" : "queued_copy") + after);
        const Variable order(fault, at.c_str());
        const Variable code("TILEWRIGHT_FAKE_COPY_ERROR", "700");
        LuOptions options = lu_options("streamed", Target::gpu, 64);
        options.on_device_failure = wanted;
        auto lu = a;
        std::vector<std::int64_t> pivots(200);
        const auto what = fmt::format("{} {} {}", fault, after, int(wanted));
        try {
          const LuReport report =
              lu_factor(context_, 200, 200, lu.data.data(), lu.ld, pivots.data(), options);
          EXPECT_LT(factor_ratio(a, lu, pivots), 3) << what;
          EXPECT_EQ(report.redone, wanted == OnDeviceFailure::redo) << what;
          EXPECT_EQ(wanted, OnDeviceFailure::redo) << what;
        } catch (const Error& error) {
          EXPECT_EQ(wanted, OnDeviceFailure::error) << what << error.what();
          EXPECT_EQ(error.code(), ErrorCode::device_lost) << what << error.what();
        }
      }
    }
}

// Columns that lie further apart than copies of blocks reach, which is 2 GiB.
TEST_F(GpuLuHost, OffsetsPassThirtyTwoBits) {
  const std::int64_t n = 150;
  const auto a = make_matrix<float>(LuKind::random, n, n);
  for (const std::int64_t ld : {(std::int64_t(1) << 24) + 8, (std::int64_t(1) << 29) + 8}) {
    const FarColumns<float> lu(a, ld);
    if (!lu) GTEST_SKIP() << "no address space";
    std::vector<std::int64_t> pivots(n);
    const LuReport report =
        lu_factor(context_, n, n, lu.data(), ld, pivots.data(), lu_options("streamed", Target::gpu, 40));
    EXPECT_EQ(report.candidate, "streamed");
    EXPECT_LT(factor_ratio(a, lu.near(a), pivots), 3) << ld;
  }
}

}  // namespace
}  // namespace tilewright::testing
