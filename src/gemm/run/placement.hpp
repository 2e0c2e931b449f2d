// Hands the problems of a large batch to the memory nodes that hold them (Masliah 2016, section 4.4). On a
// machine with one node, and for batches that caches hold, there is nothing to hand out and calls are split
// evenly.
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

// The same on this machine.
std::vector<ThreadRange> ranges_by_node(const GemmProblem& problem, const Operands& operands, int threads,
                                        std::int64_t multiple);

}  // namespace tilewright
