// Asks where sampled problems lie and leaves the partition to device/numa. It moves no memory and binds no
// thread.
#include "gemm/run/placement.hpp"

#include "gemm/operand.hpp"

namespace tilewright {
namespace {

// Finding the nodes takes some hundred system calls, under a millisecond; this much memory takes several to
// walk.
constexpr double worth_asking_bytes = 64 << 20;

bool worth_asking(const GemmProblem& problem, int threads) {
  return threads > 1 && problem.residency == Residency::cold &&
         footprint_bytes(problem) >= worth_asking_bytes;
}

const void* address_of_c(const GemmProblem& p, const Operands& o, std::int64_t index) {
  if (p.layout == Layout::pointer) return static_cast<const void* const*>(o.c)[index];
  const std::int64_t offset = layout_c(p).offset(index / problems_per_step(p));
  return static_cast<const char*>(o.c) + offset * size_bytes(p.dtype);
}

}  // namespace

std::vector<ThreadRange> ranges_by_node(const std::vector<NumaNode>& nodes, const GemmProblem& problem,
                                        const Operands& operands, int threads, std::int64_t multiple,
                                        const std::function<int(const void*)>& node_of_address) {
  if (nodes.size() < 2 || !worth_asking(problem, threads)) return {};
  auto ranges = located_ranges(nodes, problem.batch_count, multiple, threads, [&](std::int64_t index) {
    return node_of_address(address_of_c(problem, operands, index));
  });
  for (const ThreadRange& range : ranges)
    if (range.node >= 0) return ranges;
  return {};
}

std::vector<ThreadRange> ranges_by_node(const GemmProblem& problem, const Operands& operands, int threads,
                                        std::int64_t multiple) {
  if (!worth_asking(problem, threads)) return {};
  return ranges_by_node(numa_nodes(), problem, operands, threads, multiple, [](const void* address) {
    try {
      const auto nodes = nodes_of(address, 1);
      return nodes.empty() ? -1 : nodes.front();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      return -1;  // the operating system does not say, so the even split serves
    }
  });
}

}  // namespace tilewright
