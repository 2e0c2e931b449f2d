// Memory nodes and the distribution of work: nodes with cores and memory, the problems of each node and
// thread, and the nodes of pages. hwloc lists nodes and places pages; the rest is pure arithmetic.
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

// A node with memory and near cores. Cores of nodes without memory are dealt round robin to the others.
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

// Returns a contiguous run of problems per node, in proportion to its cores, with borders at multiples of
// `granularity`; empty shares are left out. thread = position in `nodes`.
std::vector<ThreadRange> node_ranges(const std::vector<NumaNode>& nodes, std::int64_t batch_count,
                                     std::int64_t granularity);

// Returns the ranges of the threads. first_touch, interleave: one even contiguous run each, as calls split.
// per_node: node_ranges, split evenly among the node's threads, which are dealt in proportion to cores, at
// least one each, and numbered node after node. With fewer threads than nodes a thread has several ranges.
std::vector<ThreadRange> thread_ranges(const std::vector<NumaNode>& nodes, std::int64_t batch_count,
                                       std::int64_t granularity, int threads, Placement placement);

// Returns the ranges for placed problems: node_of(p) is the node of problem p, -1 if unknown. Samples find
// runs on one node; a batch without long runs (interleaved pages) or on one node is split evenly.
std::vector<ThreadRange> located_ranges(const std::vector<NumaNode>& nodes, std::int64_t batch_count,
                                        std::int64_t granularity, int threads,
                                        const std::function<int(std::int64_t)>& node_of);

// Hands each range out once: a thread takes ranges of its own node first, then others. Thread-safe.
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

// Returns the nodes of the pages in [address, address + bytes), ascending; untouched pages have none. Throws
// Error(unsupported) if the operating system cannot tell.
std::vector<int> nodes_of(const void* address, std::int64_t bytes);

// Requests the whole pages in [address, address + bytes) from these nodes at first touch (interleaved: round
// robin). Returns "" or why the operating system refused.
std::string place_pages(void* address, std::int64_t bytes, const std::vector<int>& nodes, bool interleaved);

}  // namespace tilewright
