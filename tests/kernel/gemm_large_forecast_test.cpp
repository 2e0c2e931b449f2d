// Forecasts of large GEMM on the GPU against times of an H100 for random problems of each type without a
// record: their errors match the shipped model, and their choices are faster than cuBLAS and never much
// slower.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "kernel/gemm_large/forecast.hpp"
#include "measure/recorded_file.hpp"
#include "plan/offer.hpp"
#include "support/gpu_limits.hpp"
#include "wisdom/model.hpp"

namespace tilewright::testing {
namespace {

GpuLimits h100() {
  GpuLimits limits = fictional_gpu(90);
  limits.clock_khz = 1980000;
  limits.memory_bytes_per_s = 3.352e12;
  return limits;
}

std::vector<nlohmann::json> lines_of(const std::string& path) {
  std::istringstream text = read_recorded(TILEWRIGHT_SOURCE_DIR + path, "results", ErrorCode::io);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

GemmLargeForecastModel shipped(DType dtype) {
  for (const auto& line : lines_of("/wisdom/sm_90.jsonl"))
    if (const auto model = model_of_line(line); model && model->dtype == to_string(dtype))
      return forecast_model(model->coefficients);
  throw Error(ErrorCode::io, "wisdom", "no forecasts are shipped");
}

struct Taken {
  double ours_s = 0, theirs_s = 0;
  bool again = false;  // all launches had the same operands
  nlohmann::json config;
};

// The problems for which tilewright was measured, by its default.
std::map<std::string, Taken> recorded(DType dtype) {
  std::map<std::string, Taken> problems;
  for (const char* file :
       {"/results/h100/gemm-20261126-forecast.jsonl.gz", "/results/h100/gemm-20261126-plans.jsonl.gz"})
    for (const auto& row : lines_of(file)) {
      if (!row.contains("impl") || row.at("dtype") != to_string(dtype)) continue;
      Taken& one = problems[row.at("problem")];
      one.again = !row.contains("residency");
      if (row.at("impl") == "cublas") {
        one.theirs_s = row.at("seconds");
      } else if (row.at("config").contains("tile_m")) {
        one.ours_s = row.at("seconds");
        one.config = row.at("config");
      }
    }
  std::erase_if(problems, [](const auto& one) { return one.second.config.is_null(); });
  return problems;
}

class Forecasts : public ::testing::TestWithParam<DType> {};

// For 3x1000000x3 the forecast is 53 us, and 78 us by cuBLAS, but an H200 takes 117 and 59 us.
TEST_P(Forecasts, AreLessCertainOfSizesThatTheyWereNotJudgedAt) {
  const auto model = shipped(GetParam());
  for (const char* sizes : {"m=3,n=1000000,k=3", "m=1000000,n=3,k=64", "m=4096,n=4096,k=8",
                            "m=20,n=500000,k=20", "m=64,n=64,k=2000000", "m=4000000,n=100,k=100"}) {
    const auto p =
        packed(parse_problem(fmt::format("gemm:{}:nn:{}:location=device", to_string(GetParam()), sizes)));
    const auto shape = gemm_large_shape(p);
    const auto own = forecast_own(model, p, shape, GemmLargeConfig{}, h100());
    const auto vendors = forecast_cublas(model, p, h100());
    ASSERT_TRUE(own && vendors) << sizes;
    EXPECT_GE(own->error, 0.4);
    EXPECT_GE(vendors->error, 0.2);
    // A model that does not say how it errs there.
    GemmLargeForecastModel unsure = model;
    unsure.ours_sd_outside.reset(), unsure.theirs_sd_outside.reset();
    EXPECT_FALSE(forecast_own(unsure, p, shape, GemmLargeConfig{}, h100())) << sizes;
    EXPECT_FALSE(forecast_cublas(unsure, p, h100())) << sizes;
  }
}

TEST_P(Forecasts, OfRecordedProblemsErrAsTheySayAndTheExpectedTimeChoosesWell) {
  const auto model = shipped(GetParam());
  const auto problems = recorded(GetParam());
  ASSERT_GE(problems.size(), 120u);
  double within = 0, of_best = 0, of_theirs = 0;
  for (const auto& [text, one] : problems) {
    const GemmProblem p = packed(parse_problem(text));
    const auto shape = gemm_large_shape(p);
    const auto config = from_json<GemmLargeConfig>(one.config);
    const auto own = forecast_own(model, p, shape, config, h100()),
               vendors = forecast_cublas(model, p, h100());
    ASSERT_TRUE(own && vendors) << text;
    const double theirs_us = forecast_cublas_us(model.theirs, p, h100(), one.again);
    const double ours_us =
        forecast_own_us(model.ours, p, own_terms(p, shape, config, h100()), h100(), one.again);
    within += std::fabs(std::log(theirs_us * 1e-6 / one.theirs_s)) <= vendors->error;
    within += std::fabs(std::log(ours_us * 1e-6 / one.ours_s)) <= own->error;
    CostEstimate first, later;
    first.seconds = own->seconds, first.error = own->error;
    later.seconds = vendors->seconds, later.error = vendors->error;
    const double taken = is_preferred({}, later, first) ? one.theirs_s : one.ours_s;
    of_best += std::log(std::min(one.theirs_s, one.ours_s) / taken);
    of_theirs += std::log(one.theirs_s / taken);
  }
  const double count = double(problems.size());
  EXPECT_GE(within / count / 2, 0.6);
  EXPECT_GE(std::exp(of_best / count), 0.97);
  EXPECT_GE(std::exp(of_theirs / count), 1.05);
}

TEST_P(Forecasts, SayNothingOfWhatTheyHaveNotSeen) {
  const auto model = shipped(GetParam());
  GemmProblem p = packed(parse_problem("gemm:" + std::string(to_string(GetParam())) +
                                       ":nn:m=1000,n=1000,k=1000:location=device"));
  const auto known = [&](const GpuLimits& limits) {
    const auto shape = gemm_large_shape(p);
    return forecast_own(model, p, shape, gemm_large_default(p, shape, limits), limits).has_value() &&
           forecast_cublas(model, p, limits).has_value();
  };
  EXPECT_TRUE(known(h100()));
  EXPECT_FALSE(known(fictional_gpu(80))) << "another architecture";
  p.batch_count = 2;
  EXPECT_FALSE(known(h100())) << "a batch";
  p.batch_count = 1, p.m = 1;
  p = packed(p);
  EXPECT_FALSE(known(h100())) << "a vector, for which cuBLAS has other kernels";
}

INSTANTIATE_TEST_SUITE_P(Types, Forecasts, ::testing::Values(DType::f64, DType::f32),
                         [](const auto& type) { return std::string(to_string(type.param)); });

TEST(ForecastModel, NamesWhatIsWrong) {
  EXPECT_THROW(forecast_model({{"theirs", nlohmann::json::object()}}), Error);
}

}  // namespace
}  // namespace tilewright::testing
