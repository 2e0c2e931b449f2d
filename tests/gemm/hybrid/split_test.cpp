// How products are shared out: cases whose time is plain arithmetic, the figures of a measured node (one H100
// of 55 GB/s each way, 16 cores), answers of 0 % and 100 %, caps, and the paper's ways of choosing.
#include <gtest/gtest.h>

#include "gemm/hybrid/models.hpp"
#include "gemm/hybrid/split/prediction.hpp"
#include "gemm/hybrid/split/shares.hpp"

namespace tilewright {
namespace {

NodeModel measured_node(int gpus = 1) {
  NodeModel node = default_node(16 * gpus, std::vector<std::string>(std::size_t(gpus), "H100"));
  for (GpuModel& gpu : node.gpus) {
    gpu.memory_bytes = std::int64_t(80) << 30;
    if (gpus > 1) gpu.from_peer = {1e-5, 1 / 397e9};
  }
  return node;
}

SplitRequest pinned_request(std::int64_t m, std::int64_t n, std::int64_t k, int gpus = 1) {
  SplitRequest request;
  request.problem.m = m, request.problem.n = n, request.problem.k = k;
  request.problem = packed(request.problem);
  request.problem.beta = Scalar::one;
  request.pinned = all_matrices;
  request.gpus_add = true;
  for (int i = 0; i < gpus; ++i) request.gpus.push_back(i);
  return request;
}

// A machine whose copies and products cost nothing but what is set here.
NodeModel plain_node(double bytes_per_s, double flops_per_s) {
  NodeModel node = measured_node();
  node.host.stream_start_s = 0;
  GpuModel& gpu = node.gpus[0];
  gpu.to_device = gpu.to_host = {0, 1 / bytes_per_s};
  gpu.row_s = 0, gpu.duplex = 1;
  for (GemmTime& time : gpu.gemm) time = {0, 2 / flops_per_s, 0, 0, 0};
  return node;
}

TEST(Split, TransfersAloneTakeTheirTime) {
  const NodeModel node = plain_node(1e9, 1e18);
  SplitRequest request = pinned_request(4096, 4096, 64);
  request.may_use_host = false;
  const SplitChoice choice = choose_split(node, request);
  const double in = 8.0 * (4096.0 * 4096 + 2 * 64 * 4096) / 1e9;
  EXPECT_GT(choice.split.gpu_s, in);
  EXPECT_LT(choice.split.gpu_s, in * 1.05) << "C goes back while it comes in";
  EXPECT_NEAR(choice.split.transfer_s, in, in * 1e-9);
}

TEST(Split, ProductsAloneTakeTheirTime) {
  const NodeModel node = plain_node(1e15, 1e12);
  SplitRequest request = pinned_request(2048, 2048, 2048);
  request.may_use_host = false;
  const SplitChoice choice = choose_split(node, request);
  EXPECT_NEAR(choice.split.gpu_s, 2 * std::pow(2048.0, 3) / 1e12, 1e-3 * choice.split.gpu_s);
  EXPECT_NEAR(choice.split.compute_s, choice.split.gpu_s, 1e-3 * choice.split.gpu_s);
}

TEST(Split, ComputeHidesTransfersAndTheOtherWayRound) {
  for (const double flops_per_s : {10e12, 20e12, 40e12, 60e12, 75e12, 160e12}) {
    const NodeModel node = plain_node(55e9, flops_per_s);
    SplitRequest request = pinned_request(16384, 16384, 16384);
    request.may_use_host = false;
    const SplitChoice choice = choose_split(node, request);
    const double bound = std::max(3 * 8 * 16384.0 * 16384 / 55e9, 2 * std::pow(16384.0, 3) / flops_per_s);
    // If both take about as long, neither can hide all of the other.
    EXPECT_LT(choice.split.gpu_s, (flops_per_s == 75e12 ? 1.22 : 1.05) * bound) << flops_per_s;
    EXPECT_GE(choice.split.gpu_s, bound) << flops_per_s;
  }
}

// The probe of that node: A in 8 slices, columns in sixteenths, three buffers.
TEST(Split, PredictsTheMeasuredPipeline) {
  const NodeModel node = measured_node();
  for (const auto& [n, measured_s] : {std::pair{4096, 7.90e-3}, {8192, 32.4e-3}, {16384, 184e-3}}) {
    const SplitRequest request = pinned_request(n, n, n);
    Split split;
    GpuShare share;
    share.count = n, share.tile = share.first_tile = share.last_tile = n / 16, share.slice_k = n / 8;
    share.panel_k = share.panel_other = n, share.stages = 3;
    split.gpus = {share};
    EXPECT_NEAR(predict(node, request, split).gpu_s, measured_s, 0.1 * measured_s) << n;
    const SplitChoice choice = choose_split(node, request);
    EXPECT_LT(choice.one_gpu_s.value(), measured_s * 1.005) << "ours is cut better";
  }
}

TEST(Split, BarsAreWithinReach) {
  const NodeModel node = measured_node();
  for (const auto& [n, most] : {std::pair{2048, 1.2}, {4096, 1.1}, {8192, 1.12}, {16384, 1.13}}) {
    const SplitRequest request = pinned_request(n, n, n);
    const GemmTime& gemm = node.gpus[0].gemm[std::size_t(DType::f64)];
    const double bound = std::max(3.0 * 8 * n * n / 55e9, gemm.of(n, n, n));
    EXPECT_LT(choose_split(node, request).one_gpu_s.value(), most * bound) << n;
  }
}

TEST(Split, TheCpuSharesThinPanelsAndNothingElse) {
  const NodeModel node = measured_node();
  const auto chosen = [&](std::int64_t n, std::int64_t k) {
    return choose_split(node, pinned_request(n, n, k));
  };
  for (const std::int64_t k : {32, 64}) {
    const SplitChoice thin = chosen(16384, k);
    EXPECT_GT(thin.split.host_count, 0) << k;
    EXPECT_FALSE(thin.split.gpus.empty());
    EXPECT_LT(thin.split.seconds, 0.97 * *thin.one_gpu_s) << k;
    EXPECT_NE(thin.reason.find("together"), std::string::npos) << thin.reason;
  }
  for (const std::int64_t k : {512, 2048, 16384}) {
    const SplitChoice deep = chosen(16384, k);
    EXPECT_EQ(deep.split.host_count, 0) << k;
    EXPECT_NEAR(deep.split.seconds, *deep.one_gpu_s, 1e-12);
  }
}

TEST(Split, TheCpuDoesAllOfWhatIsSmall) {
  const SplitChoice choice = choose_split(measured_node(), pinned_request(64, 64, 64));
  EXPECT_EQ(choice.split.host_count, 64);
  EXPECT_TRUE(choice.split.gpus.empty());
  EXPECT_EQ(choice.split.seconds, *choice.host_only_s);
  EXPECT_NE(choice.reason.find("round figures"), std::string::npos) << choice.reason;
  SplitRequest request = pinned_request(4096, 4096, 4096);
  request.gpus.clear();
  EXPECT_EQ(choose_split(measured_node(), request).split.host_count, 4096);
}

TEST(Split, SharesCoverAllColumnsOnce) {
  for (const int gpus : {1, 2, 3, 5})
    for (const double cpu_share : {0.0, 0.013, 0.5, 0.99, 1.0})
      for (const auto& [m, n, k] :
           {std::array{5000, 3001, 700}, {777, 12000, 33}, {12000, 77, 2049}, {9, 7, 5}}) {
        NodeModel node = measured_node(gpus);
        node.gpus.back().to_device.s_per_byte *= 3;  // not all alike
        SplitRequest request = pinned_request(m, n, k, gpus);
        request.cpu_share = cpu_share;
        const Split split = choose_split(node, request).split;
        std::int64_t next = 0;
        for (const GpuShare& share : split.gpus) {
          EXPECT_EQ(share.first, next);
          EXPECT_GT(share.count, 0);
          next += share.count;
        }
        EXPECT_EQ(split.host_first, next);
        const std::int64_t all = split.side == SplitSide::columns ? n : m;
        EXPECT_EQ(next + split.host_count, all);
        EXPECT_NEAR(double(split.host_count), cpu_share * double(all), 1) << cpu_share;
      }
}

TEST(Split, MoreGpusTakeLess) {
  const SplitChoice choice = choose_split(measured_node(2), pinned_request(8192, 8192, 8192, 2));
  EXPECT_EQ(choice.split.gpus.size(), 2u);
  EXPECT_LT(*choice.all_gpus_s, *choice.one_gpu_s / 1.65);
  const SplitChoice large = choose_split(measured_node(2), pinned_request(16384, 16384, 16384, 2));
  EXPECT_LT(*large.all_gpus_s, *large.one_gpu_s / 1.65);
}

TEST(Split, CapsOfMemoryAreKept) {
  SplitRequest request = pinned_request(50000, 50000, 50000);
  request.may_use_host = false;
  request.memory_bytes = std::int64_t(8) << 30;
  const Split split = choose_split(measured_node(), request).split;
  const StreamShape shape(request.problem, split.side);
  EXPECT_LE(schedule_bytes(shape, split.gpus[0]), request.memory_bytes);
  EXPECT_LT(split.gpu_s, 1.15 * 2 * std::pow(50000.0, 3) / 60e12);
}

TEST(Split, WhatFitsNowhereIsRefused) {
  SplitRequest request = pinned_request(300, 300, 300);
  request.may_use_host = false;
  request.memory_bytes = 24;
  try {
    choose_split(measured_node(), request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("24 bytes"), std::string::npos) << error.what();
  }
  request.may_use_host = true;
  const SplitChoice choice = choose_split(measured_node(), request);
  EXPECT_EQ(choice.split.host_count, 300);
  EXPECT_NE(choice.reason.find("not even one tile"), std::string::npos) << choice.reason;
}

TEST(Split, WhatNobodyMayComputeIsRefused) {
  SplitRequest request = pinned_request(64, 64, 64);
  request.cpu_share = 0.5, request.gpus.clear();
  EXPECT_THROW(choose_split(measured_node(), request), Error);
  request.cpu_share.reset(), request.may_use_host = false;
  EXPECT_THROW(choose_split(measured_node(), request), Error);
}

// A machine that is fastest with a third of the columns on the CPU.
double valley(const Split& split) {
  double along = double(split.host_count);
  for (const GpuShare& share : split.gpus) along += double(share.count);
  const double share = double(split.host_count) / along;
  return 1 + (share - 0.33) * (share - 0.33);
}

TEST(SplitSearch, ThePapersWays) {
  const NodeModel node = measured_node();
  const SplitRequest request = pinned_request(1000, 1000, 1000);
  SplitSearch search;
  search.step = 0.1, search.threshold = 0.02;
  const auto all = search_split(node, request, SplitRule::exhaustive, search, valley);
  EXPECT_EQ(all.tried, 11);
  EXPECT_NEAR(cpu_share(all.best), 0.3, 1e-9);
  EXPECT_EQ(all.best_s, valley(all.best));
  search.hopeless = 1.1;  // of 1: no share beyond 0.33 + sqrt(0.1)
  EXPECT_EQ(search_split(node, request, SplitRule::exhaustive, search, valley).tried, 8);
  search.hopeless = 4;
  const auto guided = search_split(node, request, SplitRule::guided, search, valley);
  EXPECT_NEAR(cpu_share(guided.best), 0.3, 1e-9);
  EXPECT_EQ(guided.tried, 6) << "0 to 0.5, which is beyond the threshold";
  search.begin = 0.25;
  const auto later = search_split(node, request, SplitRule::guided, search, valley);
  EXPECT_NEAR(cpu_share(later.best), 0.35, 1e-9);
  EXPECT_LT(later.tried, guided.tried);
}

// Without a plan no way with a GPU may be given up that would have been taken.
TEST(Split, WhatIsGivenUpUnplannedWouldHaveLost) {
  int given_up = 0;
  for (const int gpus : {1, 4})
    for (const std::int64_t m : {100, 700, 3000, 12000})
      for (const std::int64_t n : {30, 200, 1500, 6000})
        for (const std::int64_t k : {8, 64, 500, 3000}) {
          const NodeModel node = measured_node(gpus);
          SplitRequest request = pinned_request(m, n, k, gpus);
          const SplitChoice choice = choose_split(node, request);
          if (choice.reason.find("less than the transfers of GPUs") == std::string::npos) continue;
          ++given_up;
          const auto what = std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k);
          EXPECT_TRUE(choice.split.gpus.empty()) << what;
          for (const double share : {0.1, 0.5, 0.8}) {
            request.cpu_share = share;
            EXPECT_GT(choose_split(node, request).split.seconds, 0.92 * *choice.host_only_s) << what << share;
          }
          request.cpu_share.reset();
          request.may_use_host = false;
          EXPECT_GE(choose_split(node, request).split.seconds, *choice.host_only_s) << what;
        }
  EXPECT_GT(given_up, 10);
}

}  // namespace
}  // namespace tilewright
