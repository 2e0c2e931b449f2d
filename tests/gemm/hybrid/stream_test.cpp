// The pipelined executor on simulated GPUs, where what is not waited for goes wrong: every type and op, ways
// of splitting and cutting, memories too small for the operands, pageable operands, several GPUs.
#include <random>

#include "gemm/hybrid/split/prediction.hpp"
#include "simulated_job.hpp"

namespace tilewright::testing {
namespace {

GpuShare share_of(int gpu, std::int64_t first, std::int64_t count, const StreamShape& shape) {
  GpuShare share;
  share.gpu = gpu, share.first = first, share.count = count;
  share.tile = 40, share.first_tile = 64, share.last_tile = 32, share.slice_k = 16;
  share.slices_streamed = true;
  share.panel_k = shape.k(), share.panel_other = shape.across();
  share.stages = 3;
  return share;
}

// The CPU's part, and the rest in equal shares.
Split even_split(const GemmProblem& problem, SplitSide side, int gpus, std::int64_t host_count) {
  const StreamShape shape(problem, side);
  Split split;
  split.side = side;
  split.host_count = host_count;
  split.host_first = shape.along() - host_count;
  for (int i = 0; i < gpus; ++i) {
    const std::int64_t first = split.host_first * i / gpus;
    split.gpus.push_back(share_of(i, first, split.host_first * (i + 1) / gpus - first, shape));
  }
  split.ring_bytes = 1 << 20;
  split.copy_threads = 2;
  return split;
}

// Any legal way of cutting, fitting or not.
Split random_split(const GemmProblem& problem, int gpus, std::mt19937& random) {
  const auto up_to = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(1, std::max<std::int64_t>(1, most))(random);
  };
  const SplitSide side = up_to(2) == 1 ? SplitSide::columns : SplitSide::rows;
  const StreamShape shape(problem, side);
  Split split = even_split(problem, side, gpus, up_to(3) == 1 ? up_to(shape.along()) - 1 : 0);
  const bool blocked = problem.k > 1 && up_to(3) == 1;
  const std::int64_t slice = up_to(problem.k);
  for (GpuShare& share : split.gpus) {
    share.tile = up_to(shape.along()), share.first_tile = up_to(shape.along());
    share.last_tile = up_to(share.tile);
    share.slice_k = slice;
    share.slices_streamed = up_to(2) == 1, share.adds_c = up_to(2) == 1;
    share.stages = int(1 + up_to(3));
    if (blocked) share.panel_k = up_to(problem.k - 1), share.panel_other = up_to(shape.across());
  }
  return split;
}

TEST(Stream, EveryTypeOpAndBeta) {
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const Op op_a : {Op::none, Op::trans, Op::conj_trans})
      for (const Op op_b : {Op::none, Op::trans, Op::conj_trans})
        for (const Scalar beta : {Scalar::zero, Scalar::one, Scalar::general})
          for (const SplitSide side : {SplitSide::columns, SplitSide::rows}) {
            SimulatedCall call;
            call.problem = host_product(dtype, op_a, op_b, 67, 141, 45, beta);
            call.node = small_node(1);
            call.split = even_split(call.problem, side, 1, 13);
            const SimulatedResult result = run_simulated(call);
            EXPECT_TRUE(result.is_right)
                << to_string(call.problem) << " by " << to_string(side) << result.error;
          }
}

TEST(Stream, AnyWayOfCutting) {
  std::mt19937 random(2026);
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int i = 0; i < 250; ++i) {
    const auto op = [&] { return Op(from(0, 2)); };
    SimulatedCall call;
    call.problem = host_product(DType(from(0, 3)), op(), op(), from(1, 130), from(1, 200), from(1, 90),
                                Scalar(from(0, 2)), from(0, 4));
    const int gpus = int(from(1, 3));
    call.node = small_node(gpus, from(0, 1) == 1);
    // Any lane may be the slow one: what does not wait for it shows.
    for (GpuModel& gpu : call.node.gpus) {
      gpu.to_device.s_per_byte *= double(from(1, 40)), gpu.to_host.s_per_byte *= double(from(1, 40));
      gpu.gemm[std::size_t(call.problem.dtype)].s_per_product *= double(from(1, 20000));
    }
    call.faults.resize(std::size_t(gpus));
    for (SimulatedFaults& faults : call.faults) faults.adds = from(0, 3) > 0;
    call.split = random_split(call.problem, gpus, random);
    call.pinned = from(0, 2) > 0;
    const SimulatedResult result = run_simulated(call, unsigned(i));
    ASSERT_TRUE(result.is_right) << i << ": " << to_string(call.problem) << " " << result.error;
  }
}

TEST(Stream, EveryShareOfTheCpu) {
  SimulatedCall call;
  call.problem = host_product(DType::f64, Op::none, Op::trans, 50, 120, 33, Scalar::general);
  call.node = small_node(2);
  for (const std::int64_t host : {0, 1, 60, 119}) {
    call.split = even_split(call.problem, SplitSide::columns, host == 119 ? 1 : 2, host);
    EXPECT_TRUE(run_simulated(call).is_right) << host;
  }
  call.split = Split();
  call.split.host_count = 120;
  const SimulatedResult result = run_simulated(call);
  EXPECT_TRUE(result.is_right);
  EXPECT_EQ(result.operations, (std::vector<int>{0, 0}));
}

TEST(Stream, BetaZeroNeverUploadsC) {
  SimulatedCall call;
  call.node = small_node(1);
  for (const Scalar beta : {Scalar::zero, Scalar::one}) {
    call.problem = host_product(DType::f64, Op::none, Op::none, 64, 128, 32, beta);
    call.split = even_split(call.problem, SplitSide::columns, 1, 0);
    const SimulatedResult result = run_simulated(call);
    EXPECT_TRUE(result.is_right);
    EXPECT_EQ(result.bytes_in[0], 8 * (64 * 32 + 32 * 128 + (beta == Scalar::one ? 64 * 128 : 0)));
  }
}

TEST(Stream, PeersGetEachSliceOnce) {
  SimulatedCall call;
  call.problem = host_product(DType::f64, Op::none, Op::none, 64, 192, 128, Scalar::zero);
  const auto bytes_in = [&](int gpus, bool peers) {
    call.node = small_node(gpus, peers);
    call.split = even_split(call.problem, SplitSide::columns, gpus, 0);
    const SimulatedResult result = run_simulated(call);
    EXPECT_TRUE(result.is_right) << gpus << result.error;
    std::int64_t sum = 0;
    for (const std::int64_t bytes : result.bytes_in) sum += bytes;
    return sum;
  };
  const std::int64_t a = 8 * 64 * 128, b = 8 * 128 * 192;
  for (const int gpus : {1, 2, 3}) {
    EXPECT_EQ(bytes_in(gpus, true), a + b) << gpus;
    EXPECT_EQ(bytes_in(gpus, false), gpus * a + b) << gpus;
  }
}

TEST(Stream, TightMemory) {
  SimulatedCall call;
  SplitRequest request;
  request.gpus = {0};
  request.pinned = all_matrices;
  request.may_use_host = false;
  for (const Scalar beta : {Scalar::zero, Scalar::general})
    for (const std::int64_t cap : {6000, 20000, 60000, 150000, 400000}) {
      call.problem = request.problem = host_product(DType::f64, Op::trans, Op::none, 150, 170, 190, beta);
      call.node = small_node(1, true, cap);
      request.memory_bytes = cap;
      call.split = choose_split(call.node, request).split;
      const SimulatedResult result = run_simulated(call);
      EXPECT_TRUE(result.is_right) << cap << " " << result.error;
      EXPECT_LE(result.most_bytes[0], cap);
      EXPECT_GT(result.most_bytes[0], cap / 4) << "most of the memory serves";
    }
}

TEST(Stream, RepeatsBitForBit) {
  SimulatedCall call;
  call.problem = host_product(DType::f32, Op::none, Op::none, 90, 150, 70, Scalar::one);
  call.node = small_node(2);
  call.split = even_split(call.problem, SplitSide::columns, 2, 20);
  const SimulatedResult first = run_simulated(call);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run_simulated(call).c, first.c);
  call.pinned = false;
  EXPECT_EQ(run_simulated(call).c, first.c);
}

TEST(Stream, WhatWasPredictedIsWhatHappens) {
  SplitRequest request;
  request.problem = host_product(DType::f64, Op::none, Op::none, 300, 400, 200, Scalar::one);
  request.gpus = {0};
  request.pinned = all_matrices;
  request.cpu_share = 0;
  SimulatedCall call;
  call.problem = request.problem;
  call.node = small_node(1);
  for (const bool adds : {false, true}) {
    request.gpus_add = adds;
    call.split = choose_split(call.node, request).split;
    const SimulatedResult result = run_simulated(call);
    EXPECT_TRUE(result.is_right);
    EXPECT_NEAR(result.seconds[0], call.split.gpu_s, 1e-9 * call.split.gpu_s);
    call.faults = {{}};
    call.faults[0].slower = 2;
    EXPECT_NEAR(run_simulated(call).seconds[0], 2 * call.split.gpu_s, 1e-6 * call.split.gpu_s);
    call.faults.clear();
  }
}

}  // namespace
}  // namespace tilewright::testing
