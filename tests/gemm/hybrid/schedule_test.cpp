// Tiles, slices and steps of a share, the clock that times them, and the simulated GPU by itself.
#include "gemm/hybrid/split/schedule.hpp"

#include "gemm/hybrid/split/timeline.hpp"
#include "simulated_job.hpp"

namespace tilewright::testing {
namespace {

TEST(Schedule, TilesCoverAllAndEndSmall) {
  for (const std::int64_t count : {1, 31, 32, 33, 100, 777, 4096, 16384})
    for (const std::int64_t first : {1, 64, 1000, 20000})
      for (const std::int64_t tile : {1, 40, 64, 1024}) {
        const std::vector<IndexRange> tiles = tile_extents({7, count}, first, tile, tile / 4);
        std::int64_t next = 7;
        for (std::size_t i = 0; i < tiles.size(); ++i) {
          EXPECT_EQ(tiles[i].first, next);
          EXPECT_GT(tiles[i].count, 0);
          EXPECT_LE(tiles[i].count, i == 0 ? first : tile);
          next = tiles[i].end();
        }
        EXPECT_EQ(next, 7 + count);
      }
  const std::vector<IndexRange> tiles = tile_extents({0, 4096}, 512, 512, 64);
  EXPECT_LE(tiles.back().count, 64);
  EXPECT_EQ(tiles[tiles.size() - 3].count, 128);
}

TEST(Schedule, SlicesCoverKAndGrow) {
  for (const std::int64_t k : {1, 63, 64, 65, 1000, 16384}) {
    std::int64_t next = 0;
    for (const IndexRange& slice : slice_extents(k, 64)) {
      EXPECT_EQ(slice.first, next);
      EXPECT_LE(slice.count, 4 * 64 + 2 * 64);
      next = slice.end();
    }
    EXPECT_EQ(next, k);
  }
}

TEST(Schedule, PiecesOfABatchPassThroughTheirBuffers) {
  GemmProblem p = host_product(DType::f64, Op::none, Op::none, 6, 5, 7, Scalar::one, 0);
  p.layout = Layout::strided, p.batch_count = 100;
  p = packed(p);
  p.stride_a = 0;
  Split split;
  split.side = SplitSide::problems;
  split.gpus.resize(1);
  split.gpus[0].count = 100, split.gpus[0].tile = 16, split.gpus[0].stages = 3;
  const StreamShape shape(p, split.side);
  const StreamSchedule schedule = make_schedules(shape, split, {})[0];
  EXPECT_EQ(schedule.bytes(8), 8 * (6 * 7 + 3 * 16 * (7 * 5 + 6 * 5)))
      << "one A, and three pieces of B and C";
  std::vector<int> outs;
  std::int64_t copies_of_a = 0, problems = 0;
  for (int i = 0; i < int(schedule.steps.size()); ++i) {
    const StreamStep& step = schedule.steps[std::size_t(i)];
    const bool comes = step.kind == StepKind::copy_in;
    copies_of_a += comes && step.matrix == ProductMatrix::a;
    if (comes && step.matrix != ProductMatrix::a) {
      const int left = outs.size() < 3 ? -1 : outs[outs.size() - 3];
      EXPECT_EQ(step.after[std::size_t(Lane::out)], left);
    }
    if (step.kind == StepKind::multiply) problems += device_product(shape, schedule, step).batch_count;
    if (step.kind == StepKind::copy_out) outs.push_back(i);
  }
  EXPECT_EQ(copies_of_a, 1);
  EXPECT_EQ(problems, 100);
  EXPECT_EQ(outs.size(), 7u);
}

TEST(Timeline, LanesRunSideBySideAndWait) {
  Timeline timeline(1, 2, {1}, {});
  const int first = timeline.add({.lane = 0, .seconds = 2});
  const int beside = timeline.add({.lane = 1, .seconds = 3});
  const int later = timeline.add({.lane = 0, .seconds = 1, .after = {beside, -1, -1, -1}});
  timeline.run(first);
  EXPECT_DOUBLE_EQ(timeline.now(), 2);
  EXPECT_FALSE(timeline.has_ended(beside));
  timeline.run();
  EXPECT_DOUBLE_EQ(timeline.end_of(beside), 3);
  EXPECT_DOUBLE_EQ(timeline.end_of(later), 4);
  const int last = timeline.add({.lane = 1, .not_before = 10, .seconds = 1});
  timeline.run();
  EXPECT_DOUBLE_EQ(timeline.end_of(last), 11);
}

TEST(Timeline, BothDirectionsSlowEachOther) {
  Timeline timeline(1, 2, {1.25}, {});
  const int in = timeline.add({.lane = 0, .traffic = Traffic::to_device, .seconds = 4});
  const int out = timeline.add({.lane = 1, .traffic = Traffic::to_host, .seconds = 2});
  timeline.run();
  EXPECT_DOUBLE_EQ(timeline.end_of(out), 2.5);
  EXPECT_DOUBLE_EQ(timeline.end_of(in), 4.5) << "2.5 s at 0.8, the other 2 s alone";
}

TEST(Timeline, GpusTogetherAndHostCopiesShare) {
  Timeline timeline(2, 3, {1, 1}, {2, 1, 2});
  std::vector<int> copies;
  for (const int gpu : {0, 1}) {
    copies.push_back(timeline.add({.lane = 3 * gpu, .traffic = Traffic::to_device, .seconds = 1}));
    copies.push_back(timeline.add({.lane = 3 * gpu + 1, .traffic = Traffic::to_host, .seconds = 1}));
    copies.push_back(timeline.add({.lane = 3 * gpu + 2, .traffic = Traffic::host_copy, .seconds = 1}));
  }
  timeline.run();
  for (const int copy : copies) EXPECT_DOUBLE_EQ(timeline.end_of(copy), 2);
}

// Four GPUs, of which the host feeds two and a half at once, and no more than three directions in all.
TEST(Timeline, HostMemoryHasARateForEachDirectionAndForBoth) {
  const TogetherTime together{4, 1.6, 8.0 / 3};
  const auto seconds_of = [&](int into, int out) {
    Timeline timeline(4, 2, {1, 1, 1, 1}, together);
    for (int gpu = 0; gpu < 4; ++gpu) {
      if (gpu < into) timeline.add({.lane = 2 * gpu, .traffic = Traffic::to_device, .seconds = 1});
      if (gpu < out) timeline.add({.lane = 2 * gpu + 1, .traffic = Traffic::to_host, .seconds = 1});
    }
    timeline.run();
    return timeline.now();
  };
  EXPECT_DOUBLE_EQ(seconds_of(1, 0), 1);
  EXPECT_DOUBLE_EQ(seconds_of(2, 0), 1);
  EXPECT_DOUBLE_EQ(seconds_of(4, 0), 1.6);
  EXPECT_DOUBLE_EQ(seconds_of(1, 1), 1);
  EXPECT_DOUBLE_EQ(seconds_of(2, 2), 4.0 / 3);
  EXPECT_DOUBLE_EQ(seconds_of(4, 4), 8.0 / 3);
}

TEST(Timeline, WhatCanNeverBeginIsLeft) {
  Timeline timeline(1, 2, {1}, {});
  const int x = timeline.add({.lane = 0, .seconds = 1});
  const int y = timeline.add({.lane = 1, .seconds = 1, .after = {x, -1, -1, -1}});
  timeline.hold_back(x, y);
  timeline.run();
  EXPECT_FALSE(timeline.has_ended(x));
}

TEST(SimulatedDevice, KeepsTimeWithoutData) {
  NodeModel model = small_node(1);
  model.gpus[0].to_device = {0, 1e-9};
  model.gpus[0].gemm[std::size_t(DType::f64)] = {0, 1e-9, 0, 0, 0};
  SimulatedNode node(model);
  SimulatedDevice& device = node.device(0);
  const auto memory = device.allocate(std::int64_t(1) << 29);
  device.copy_in({nullptr, 8000}, {nullptr, 8000}, {1000, 125, 8});
  const auto mark = device.mark(Lane::in);
  device.hold_back(Lane::compute, mark);
  GemmProblem product;
  product.m = product.n = product.k = 1000;
  device.multiply(product, {});
  EXPECT_FALSE(device.has_passed(mark));
  device.wait(mark);
  EXPECT_TRUE(device.has_passed(mark));
  EXPECT_NEAR(device.seconds(), 1e-3, 1e-12);
  device.wait_all();
  EXPECT_NEAR(device.seconds(), 1.001, 1e-9);
  EXPECT_EQ(device.most_bytes(), std::int64_t(1) << 29);
  EXPECT_THROW(device.allocate(std::int64_t(1) << 30), Error);
}

TEST(SimulatedDevice, FailsWhereItIsTold) {
  SimulatedNode node(small_node(1), multiply_on_host);
  SimulatedDevice& device = node.device(0, {.failing_allocation = 2, .failing_copy = 2});
  const auto memory = device.allocate(64);
  EXPECT_THROW(device.allocate(64), Error);
  const std::vector<double> from(8, 1.0);
  std::vector<double> back(8, 0.0);
  const Block host{const_cast<double*>(from.data()), 16}, there{memory->data(), 16};
  device.copy_in(there, host, {2, 4, 8});
  device.hold_back(Lane::out, device.mark(Lane::in));
  device.copy_out({back.data(), 16}, there, {2, 4, 8});
  EXPECT_EQ(back[0], 0) << "nothing has happened yet";
  EXPECT_THROW(device.wait_all(), Error);
  EXPECT_EQ(back, (std::vector<double>{1, 1, 1, 1, 0, 0, 0, 0})) << "half of it came";
  try {
    device.mark(Lane::in);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::device_lost);
  }
}

}  // namespace
}  // namespace tilewright::testing
