// Memory nodes and the distribution of work: which nodes have cores and memory, which run of problems belongs
// to each node and thread, and where pages really lie. The partition is pure arithmetic on a list of nodes;
// hwloc only fills that list and places pages. No thread is started or moved here.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tilewright/allocate.hpp"

struct hwloc_topology;

namespace tilewright {

// A node that problems can be given to: it has memory, and cores that are near it. Nodes without cores are
// left out. Cores of a node without memory are dealt round robin to the nodes that have some.
struct NumaNode {
  int index = 0;          // the operating system's number
  std::vector<int> cpus;  // the operating system's number of one processing unit per core
  std::int64_t memory_bytes = 0;
};

// Returns the nodes of any topology, in its order; never empty (a machine without NUMA is one node).
std::vector<NumaNode> numa_nodes(hwloc_topology* topology);
// Returns the nodes of this machine with the cores this process may use. Read once; immutable afterwards.
const std::vector<NumaNode>& numa_nodes();

// Problems [first, first + count) and the thread and node that work on them.
struct ThreadRange {
  int thread = 0;
  int node = -1;  // NumaNode::index; -1 = whichever node the thread is on
  std::int64_t first = 0;
  std::int64_t count = 0;
  friend bool operator==(const ThreadRange&, const ThreadRange&) = default;
};

// Returns one contiguous run of problems per node, in proportion to its cores. Borders are multiples of
// `granularity` problems; nodes whose share rounds to nothing are left out. thread = position in `nodes`.
std::vector<ThreadRange> node_ranges(const std::vector<NumaNode>& nodes, std::int64_t batch_count,
                                     std::int64_t granularity);

// Returns the ranges of the threads. first_touch, interleave: one even contiguous run per thread in thread
// order, the split of a call. per_node: node_ranges, each split evenly among the node's threads; threads are
// dealt to nodes in proportion to cores, at least one each, and numbered node after node. With fewer threads
// than nodes a thread has several ranges.
std::vector<ThreadRange> thread_ranges(const std::vector<NumaNode>& nodes, std::int64_t batch_count,
                                       std::int64_t granularity, int threads, Placement placement);
std::vector<ThreadRange> thread_ranges(std::int64_t batch_count, std::int64_t granularity, int threads,
                                       Placement placement);

// Returns the ranges for problems that are placed already: node_of(p) is the node that holds problem p, -1 if
// unknown. Runs on one node are found by samples; a batch without long runs (interleaved pages) or on one
// node is split evenly.
std::vector<ThreadRange> located_ranges(const std::vector<NumaNode>& nodes, std::int64_t batch_count,
                                        std::int64_t granularity, int threads,
                                        const std::function<int(std::int64_t)>& node_of);

// Hands ranges to threads by node: a thread takes ranges of the node it runs on first, then helps the others.
// Each range is given out once. Threads may call take at the same time.
class NodeQueue {
 public:
  explicit NodeQueue(std::vector<ThreadRange> ranges);
  const ThreadRange* take(int node);  // nullptr when all are taken

 private:
  struct Lane {
    int node;
    std::vector<ThreadRange> ranges;
    std::atomic<std::size_t> next{0};
  };
  std::vector<std::unique_ptr<Lane>> lanes_;
};

// Returns the node of the core that the calling thread is on now; -1 if unknown.
int current_node();

// Returns the nodes that hold the pages of [address, address + bytes), ascending; untouched pages are on no
// node. Throws Error(unsupported) if the operating system does not say.
std::vector<int> nodes_of(const void* address, std::int64_t bytes);

// Requests the whole pages in [address, address + bytes) from these nodes (round robin when interleaved) when
// first touched. Returns "" or why the operating system refused.
std::string place_pages(void* address, std::int64_t bytes, const std::vector<int>& nodes, bool interleaved);

}  // namespace tilewright
