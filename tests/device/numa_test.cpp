// The assignment of problems to threads, on machines made up for hwloc (synthetic, restricted, through XML)
// and on this one; and whether pages really lie where a BatchBuffer requested them.
#include "device/numa.hpp"

#include <gtest/gtest.h>
#include <hwloc.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tilewright/allocate.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

class Topology {
 public:
  explicit Topology(const std::string& synthetic) {
    hwloc_topology_init(&topology_);
    if (hwloc_topology_set_synthetic(topology_, synthetic.c_str()) != 0) std::abort();
    hwloc_topology_load(topology_);
  }
  ~Topology() { hwloc_topology_destroy(topology_); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  // Removes processing units; their node stays, like a node with fewer cores or with memory only.
  void remove_cpus(unsigned first, unsigned last) {
    hwloc_bitmap_t left = hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(topology_));
    hwloc_bitmap_clr_range(left, first, static_cast<int>(last));
    if (hwloc_topology_restrict(topology_, left, 0) != 0) std::abort();
    hwloc_bitmap_free(left);
  }
  void remove_memory_of(unsigned node) {
    hwloc_obj_t object = hwloc_get_numanode_obj_by_os_index(topology_, node);
    object->attr->numanode.local_memory = 0;
  }
  // Reads the same machine back from the XML that hwloc writes.
  void through_xml() {
    char* text = nullptr;
    int bytes = 0;
    if (hwloc_topology_export_xmlbuffer(topology_, &text, &bytes, 0) != 0) std::abort();
    hwloc_topology_t copy;
    hwloc_topology_init(&copy);
    if (hwloc_topology_set_xmlbuffer(copy, text, bytes) != 0 || hwloc_topology_load(copy) != 0) std::abort();
    hwloc_free_xmlbuffer(topology_, text);
    hwloc_topology_destroy(topology_);
    topology_ = copy;
  }
  std::vector<NumaNode> nodes() const { return numa_nodes(topology_); }

 private:
  hwloc_topology_t topology_ = nullptr;
};

// Expects that ranges cover [0, batch_count) once, in order, with borders at multiples of granularity.
void expect_covers(const std::vector<ThreadRange>& ranges, std::int64_t batch_count,
                   std::int64_t granularity) {
  std::int64_t at = 0;
  for (const ThreadRange& range : ranges) {
    EXPECT_EQ(range.first, at);
    EXPECT_GT(range.count, 0);
    EXPECT_EQ(range.first % granularity, 0);
    at += range.count;
  }
  EXPECT_EQ(at, batch_count);
}

std::vector<int> iota(int first, int count) {
  std::vector<int> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), first);
  return list;
}

TEST(NumaNodes, TwoSocketsOfTenCores) {
  const auto nodes = Topology("numa:2 core:10 pu:1").nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].cpus, iota(0, 10));
  EXPECT_EQ(nodes[1].cpus, iota(10, 10));
  EXPECT_GT(nodes[1].memory_bytes, 0);
}

TEST(NumaNodes, OneUnitPerCoreOfFourNodes) {
  const auto nodes = Topology("numa:4 core:3 pu:2").nodes();
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[2].index, 2);
  EXPECT_EQ(nodes[2].cpus, (std::vector<int>{12, 14, 16}));
}

TEST(NumaNodes, NodeWithMemoryOnlyGetsNoProblems) {
  Topology topology("numa:3 core:2 pu:1");
  topology.remove_cpus(2, 3);
  topology.through_xml();
  const auto nodes = topology.nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].index, 0);
  EXPECT_EQ(nodes[1].index, 2);
}

TEST(NumaNodes, CoresWithoutMemoryHelpTheOtherNodes) {
  Topology topology("numa:3 core:4 pu:1");
  topology.remove_memory_of(1);
  const auto nodes = topology.nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].cpus, (std::vector<int>{0, 1, 2, 3, 4, 6}));
  EXPECT_EQ(nodes[1].cpus, (std::vector<int>{8, 9, 10, 11, 5, 7}));
}

TEST(NumaNodes, UnknownMemoryCountsAsMemory) {
  Topology topology("numa:2 core:1 pu:1");
  topology.remove_memory_of(0);
  topology.remove_memory_of(1);
  EXPECT_EQ(topology.nodes().size(), 2u);
}

TEST(NodeRanges, HalfOfTheProblemsOnEachSocket) {
  const auto nodes = Topology("numa:2 core:10 pu:1").nodes();
  EXPECT_EQ(node_ranges(nodes, 10000, 8), (std::vector<ThreadRange>{{0, 0, 0, 5000}, {1, 1, 5000, 5000}}));
  // There are 157 units of 64: the border is rounded to the nearest one.
  const auto ranges = node_ranges(nodes, 10000, 64);
  EXPECT_EQ(ranges[0].count, 79 * 64);
  expect_covers(ranges, 10000, 64);
}

TEST(NodeRanges, InProportionToCores) {
  Topology topology("numa:2 core:10 pu:1");
  topology.remove_cpus(15, 19);
  topology.through_xml();
  const auto ranges = node_ranges(topology.nodes(), 15 * 64, 64);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].count, 10 * 64);
  EXPECT_EQ(ranges[1].count, 5 * 64);
}

TEST(NodeRanges, TinyAndHugeBatches) {
  const auto nodes = Topology("numa:4 core:3 pu:2").nodes();
  EXPECT_TRUE(node_ranges(nodes, 0, 64).empty());
  const auto one = node_ranges(nodes, 1, 64);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].count, 1);
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max() / 2;
  const auto ranges = node_ranges(nodes, huge, 64);
  EXPECT_EQ(ranges.size(), 4u);
  expect_covers(ranges, huge, 64);
}

TEST(ThreadRanges, FirstTouchIsTheSplitOfACall) {
  const auto nodes = Topology("numa:2 core:10 pu:1").nodes();
  const auto ranges = thread_ranges(nodes, 1000, 16, 6, Placement::first_touch);
  // There are 63 units of 16 for 6 threads: 11 11 11 10 10 10, the last one cut at the end of the batch.
  ASSERT_EQ(ranges.size(), 6u);
  EXPECT_EQ(ranges[0], (ThreadRange{0, -1, 0, 176}));
  EXPECT_EQ(ranges[3], (ThreadRange{3, -1, 528, 160}));
  EXPECT_EQ(ranges[5], (ThreadRange{5, -1, 848, 152}));
  expect_covers(ranges, 1000, 16);
  EXPECT_EQ(thread_ranges(nodes, 1000, 16, 6, Placement::interleave), ranges);
}

TEST(ThreadRanges, MoreThreadsThanWork) {
  const auto nodes = Topology("numa:2 core:10 pu:1").nodes();
  for (const Placement placement : {Placement::first_touch, Placement::per_node}) {
    const auto ranges = thread_ranges(nodes, 3, 1, 20, placement);
    EXPECT_EQ(ranges.size(), 3u);
    expect_covers(ranges, 3, 1);
  }
}

TEST(ThreadRanges, PerNodeKeepsThreadsOnTheirNode) {
  const auto nodes = Topology("numa:2 core:10 pu:1").nodes();
  const auto ranges = thread_ranges(nodes, 64000, 64, 20, Placement::per_node);
  ASSERT_EQ(ranges.size(), 20u);
  expect_covers(ranges, 64000, 64);
  for (const ThreadRange& range : ranges) {
    EXPECT_EQ(range.node, range.thread / 10);
    EXPECT_EQ(range.count, 3200);
  }
}

TEST(ThreadRanges, PerNodeDealsThreadsByCores) {
  Topology topology("numa:2 core:10 pu:1");
  topology.remove_cpus(15, 19);
  const auto nodes = topology.nodes();
  for (const auto& [threads, on_first] :
       {std::pair{15, 10}, std::pair{3, 2}, std::pair{2, 1}, std::pair{30, 20}}) {
    const auto ranges = thread_ranges(nodes, 150000, 10, threads, Placement::per_node);
    expect_covers(ranges, 150000, 10);
    EXPECT_EQ(std::count_if(ranges.begin(), ranges.end(), [](const ThreadRange& r) { return r.node == 0; }),
              on_first);
  }
}

TEST(ThreadRanges, FewerThreadsThanNodes) {
  const auto nodes = Topology("numa:4 core:3 pu:2").nodes();
  const auto ranges = thread_ranges(nodes, 4000, 10, 2, Placement::per_node);
  ASSERT_EQ(ranges.size(), 4u);
  expect_covers(ranges, 4000, 10);
  EXPECT_EQ(ranges[1].thread, 0);
  EXPECT_EQ(ranges[2].thread, 1);
  EXPECT_EQ(ranges[2].node, 2);
}

TEST(ThreadRanges, RefusesNonsense) {
  const auto nodes = Topology("numa:2 core:2 pu:1").nodes();
  EXPECT_THROW(thread_ranges(nodes, -1, 1, 1, Placement::first_touch), Error);
  EXPECT_THROW(thread_ranges(nodes, 1, 0, 1, Placement::per_node), Error);
  EXPECT_THROW(thread_ranges(nodes, 1, 1, 0, Placement::per_node), Error);
  EXPECT_THROW(node_ranges({}, 1, 1), Error);
}

TEST(LocatedRanges, FindsTheBorderBetweenNodes) {
  const auto nodes = Topology("numa:2 core:10 pu:1").nodes();
  const auto ranges =
      located_ranges(nodes, 1000000, 16, 4, [](std::int64_t p) { return p < 400000 ? 1 : 0; });
  expect_covers(ranges, 1000000, 16);
  std::int64_t on_second = 0;
  for (const ThreadRange& range : ranges) {
    EXPECT_EQ(range.node, range.first < 400000 ? 1 : 0);
    on_second += range.node == 1 ? range.count : 0;
  }
  EXPECT_EQ(on_second, 400000);
  EXPECT_EQ(ranges.size(), 4u);
}

TEST(LocatedRanges, EvenWhereNodesAlternateOrAreUnknown) {
  const auto nodes = Topology("numa:2 core:10 pu:1").nodes();
  const auto even = thread_ranges(nodes, 100000, 16, 4, Placement::interleave);
  int asked = 0;
  EXPECT_EQ(located_ranges(nodes, 100000, 16, 4,
                           [&](std::int64_t p) { return ++asked, static_cast<int>(p / 48 % 2); }),
            even);
  EXPECT_LT(asked, 200) << "each question is a system call";
  EXPECT_EQ(located_ranges(nodes, 100000, 16, 4, [](std::int64_t) { return -1; }), even);
  const auto never = [](std::int64_t) -> int { throw std::logic_error("one node: nothing to ask"); };
  EXPECT_EQ(located_ranges(Topology("numa:1 core:4 pu:1").nodes(), 100000, 16, 4, never), even);
}

TEST(NodeQueue, OwnNodeFirstThenTheOthersAndEachRangeOnce) {
  NodeQueue queue({{0, 0, 0, 10}, {1, 0, 10, 10}, {2, 1, 20, 10}});
  EXPECT_EQ(queue.take(1)->first, 20);
  EXPECT_EQ(queue.take(1)->first, 0);
  EXPECT_EQ(queue.take(0)->first, 10);
  EXPECT_EQ(queue.take(0), nullptr);
  EXPECT_EQ(queue.take(7), nullptr);
}

TEST(NodeQueue, ManyThreadsTakeEachRangeOnce) {
  const auto nodes = Topology("numa:4 core:3 pu:1").nodes();
  NodeQueue queue(thread_ranges(nodes, 12000, 1, 1200, Placement::per_node));
  std::vector<int> seen(12000, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      while (const ThreadRange* range = queue.take(t))
        for (std::int64_t p = 0; p < range->count; ++p) ++seen[static_cast<std::size_t>(range->first + p)];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 12000);
}

// On this machine the calls succeed or give a reason, and the memory is valid either way.
TEST(ThisMachine, HasNodesWithCores) {
  const auto& nodes = numa_nodes();
  ASSERT_FALSE(nodes.empty());
  for (const NumaNode& node : nodes) EXPECT_FALSE(node.cpus.empty());
  const int here = current_node();
  EXPECT_TRUE(here == -1 || here >= 0);
}

class AllocateTest : public ::testing::TestWithParam<Placement> {};

TEST_P(AllocateTest, GivesZeroedAlignedMemoryWhereItWasAsked) {
  constexpr std::int64_t problem_bytes = 200, batch_count = 40000;
  const BatchBuffer buffer = allocate_batch(problem_bytes, batch_count, GetParam(), 2);
  ASSERT_NE(buffer.data(), nullptr);
  EXPECT_EQ(buffer.bytes(), problem_bytes * batch_count);
  EXPECT_EQ(buffer.placement(), GetParam());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
  const char* bytes = buffer.as<char>();
  EXPECT_TRUE(std::all_of(bytes, bytes + buffer.bytes(), [](char x) { return x == 0; }));
  if (!buffer.note().empty()) GTEST_SKIP() << buffer.note();

  std::vector<int> asked, found;
  try {
    found = nodes_of(buffer.data(), buffer.bytes());
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  for (const NumaNode& node : numa_nodes()) asked.push_back(node.index);
  EXPECT_FALSE(found.empty());
  EXPECT_TRUE(std::includes(asked.begin(), asked.end(), found.begin(), found.end()));
  if (GetParam() == Placement::first_touch) return;
  EXPECT_EQ(found, asked);
  if (GetParam() != Placement::per_node) return;
  for (const ThreadRange& run : node_ranges(numa_nodes(), batch_count, 64)) {
    // Checks away from the page at the border, which may be the neighbour's.
    const char* middle = bytes + (run.first + run.count / 2) * problem_bytes;
    EXPECT_EQ(nodes_of(middle, 1), std::vector<int>{run.node});
  }
}

INSTANTIATE_TEST_SUITE_P(Placements, AllocateTest,
                         ::testing::Values(Placement::first_touch, Placement::interleave,
                                           Placement::per_node));

TEST(Allocate, MovesAndFrees) {
  BatchBuffer first = allocate_batch(64, 1000);
  void* data = first.data();
  BatchBuffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT: moved-from buffers are empty
  second = BatchBuffer();
  EXPECT_EQ(second.data(), nullptr);
  EXPECT_EQ(second.bytes(), 0);
}

TEST(Allocate, NothingIsNoMemory) {
  EXPECT_EQ(allocate_batch(64, 0).data(), nullptr);
  EXPECT_EQ(allocate_batch(0, 64).bytes(), 0);
}

TEST(Allocate, InsideAParallelRegionAndWithManyThreads) {
#pragma omp parallel num_threads(2)
  {
    const BatchBuffer buffer = allocate_batch(100, 1000, Placement::per_node, 8);
    EXPECT_EQ(buffer.bytes(), 100000);
  }
  EXPECT_EQ(allocate_batch(8, 100000, Placement::first_touch, 64).bytes(), 800000);
}

}  // namespace
}  // namespace tilewright
