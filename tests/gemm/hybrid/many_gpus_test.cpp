// Four and eight GPUs: how a product is shared out where each has a link of its own, where the host's memory
// bounds them all, where nothing but the host joins them, and where one is slow; and the same run on
// simulated GPUs, which find what is not waited for.
#include <random>

#include "gemm/hybrid/split/prediction.hpp"
#include "gemm/hybrid/split/shares.hpp"
#include "simulated_job.hpp"

namespace tilewright::testing {
namespace {

// Of which each GPU brings a part of the host with it.
NodeModel h100_node(int gpus, bool peers = true) {
  NodeModel node = default_node(16 * gpus, std::vector<std::string>(std::size_t(gpus), "H100"));
  node.host.memory_bytes_per_s *= gpus;
  for (GpuModel& gpu : node.gpus) {
    gpu.memory_bytes = std::int64_t(80) << 30;
    if (peers) gpu.from_peer = {1e-5, 1 / 397e9};
  }
  return node;
}

SplitRequest pinned_square(std::int64_t n, int gpus) {
  SplitRequest request;
  request.problem = host_product(DType::f64, Op::none, Op::none, n, n, n, Scalar::one);
  request.pinned = all_matrices;
  request.gpus_add = true;
  for (int i = 0; i < gpus; ++i) request.gpus.push_back(i);
  return request;
}

double seconds_on(const NodeModel& node, std::int64_t n, int gpus) {
  const SplitChoice choice = choose_split(node, pinned_square(n, gpus));
  return gpus == 1 ? *choice.one_gpu_s : *choice.all_gpus_s;
}

TEST(ManyGpus, EachBringsItsPartWhereLinksAreTheirOwn) {
  const double one = seconds_on(h100_node(1), 16384, 1);
  EXPECT_GT(one / seconds_on(h100_node(4), 16384, 4), 2.8);
  EXPECT_GT(one / seconds_on(h100_node(8), 16384, 8), 4);
}

TEST(ManyGpus, WithoutPeersEachTakesTheWholeOperand) {
  for (const int gpus : {4, 8}) {
    const double with = seconds_on(h100_node(gpus), 8192, gpus);
    const double without = seconds_on(h100_node(gpus, false), 8192, gpus);
    // The common operand goes through every link: 512 MiB at 55 GB/s.
    EXPECT_GT(without, with + 3e-3) << gpus;
    EXPECT_LT(without, seconds_on(h100_node(1), 8192, 1)) << gpus;
  }
}

TEST(ManyGpus, TheHostsMemoryBoundsThem) {
  NodeModel node = h100_node(8);
  node.host.memory_bytes_per_s = 110e9;  // eight links that share what two carry
  const SplitChoice choice = choose_split(node, pinned_square(16384, 8));
  const double bytes = 8.0 * 16384 * 16384;
  // A, B and C go up and C comes down.
  EXPECT_GE(*choice.all_gpus_s, 0.999 * 4 * bytes / 110e9);
  EXPECT_GT(*choice.all_gpus_s, 1.2 * seconds_on(h100_node(8), 16384, 8));
}

TEST(ManyGpus, ASlowOneGetsLess) {
  for (const int gpus : {4, 8}) {
    NodeModel node = h100_node(gpus);
    for (GemmTime& time : node.gpus[1].gemm) time.s_per_product *= 4;
    const SplitChoice choice = choose_split(node, pinned_square(16384, gpus));
    std::int64_t slow = 0, most = 0;
    for (const GpuShare& share : choice.split.gpus) {
      most = std::max(most, share.count);
      if (share.gpu == 1) slow = share.count;
    }
    EXPECT_LT(slow, 0.35 * double(most)) << gpus;
    EXPECT_LT(*choice.all_gpus_s, 1.25 * seconds_on(h100_node(gpus), 16384, gpus)) << gpus;
  }
}

// On simulated GPUs what was predicted happens, with peers and without, and with one that is slow.
TEST(ManyGpus, SimulatedOnesDoWhatWasPredicted) {
  for (const int gpus : {4, 8})
    for (const bool peers : {true, false})
      for (const bool slow : {false, true}) {
        SimulatedCall call;
        call.node = small_node(gpus, peers);
        if (slow)
          for (GemmTime& time : call.node.gpus[2].gemm) time.s_per_product *= 3;
        SplitRequest request;
        request.problem = host_product(DType::f64, Op::none, Op::trans, 130, 1000, 170, Scalar::one);
        for (int i = 0; i < gpus; ++i) request.gpus.push_back(i);
        request.pinned = all_matrices;
        request.cpu_share = 0;
        call.problem = request.problem;
        call.split = choose_split(call.node, request).split;
        const SimulatedResult result = run_simulated(call);
        const std::string what = fmt::format("{} GPUs, peers {}, slow {}", gpus, peers, slow);
        EXPECT_TRUE(result.is_right) << what << result.error;
        double last = 0;
        for (const double seconds : result.seconds) last = std::max(last, seconds);
        // A simulated device takes the others to copy both ways whenever it does.
        EXPECT_NEAR(last, call.split.gpu_s, 0.05 * call.split.gpu_s) << what;
        EXPECT_EQ(run_simulated(call).c, result.c) << what;
      }
}

// One of many is lost in the middle: told by its name, or made good.
TEST(ManyGpus, OneOfThemMayBeLost) {
  SimulatedCall call;
  call.node = small_node(8);
  SplitRequest request;
  request.problem = host_product(DType::f64, Op::none, Op::none, 90, 800, 60, Scalar::one);
  for (int i = 0; i < 8; ++i) request.gpus.push_back(i);
  request.pinned = all_matrices;
  request.cpu_share = 0;
  call.problem = request.problem;
  call.split = choose_split(call.node, request).split;
  ASSERT_GT(call.split.gpus.size(), 3u);
  const GpuShare& share = call.split.gpus[2];
  call.faults.resize(8);
  call.faults[std::size_t(share.gpu)].lost_after = 6;
  const SimulatedResult lost = run_simulated(call);
  EXPECT_EQ(lost.code, ErrorCode::device_lost) << lost.error;
  EXPECT_NE(lost.error.find(fmt::format("Sim{}", share.gpu)), std::string::npos) << lost.error;
  EXPECT_GT(lost.wrong, 0);
  call.redo_on_host = true;
  const SimulatedResult redone = run_simulated(call);
  EXPECT_TRUE(redone.is_right) << redone.error;
}

}  // namespace
}  // namespace tilewright::testing
