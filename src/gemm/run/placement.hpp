// Shares out the problems of a batch among threads: those of a large one to the memory nodes that hold them
// (Masliah 2016, section 4.4). On a machine with one node, and for batches that caches hold, each thread gets
// as many as the others.
#pragma once

#include <functional>
#include <vector>

#include "core/problem.hpp"
#include "device/numa.hpp"

namespace tilewright {

// The runs of problems of each node, found from where C lies because it is what is written; empty when the
// batch is too small to ask the operating system about, or lies on one node, or nobody knows where. Borders
// are multiples of `multiple` problems. node_of_address tells the node of one address, -1 when unknown.
std::vector<ThreadRange> ranges_by_node(const std::vector<NumaNode>& nodes, const GemmProblem& problem,
                                        const Operands& operands, int threads, std::int64_t multiple,
                                        const std::function<int(const void*)>& node_of_address);

// Borders between the problems of threads are multiples of this: kernels that hold several problems in one
// vector finish a run without a tail, and no two threads write one cache line.
std::int64_t border_multiple(const GemmProblem& problem, int threads);

// run(first, count) for one run of the batch after the other on each of several threads, those on the node
// where a run's data lie first.
void share_out(const GemmProblem& problem, const Operands& operands, int threads,
               const std::function<void(std::int64_t first, std::int64_t count)>& run);

}  // namespace tilewright
