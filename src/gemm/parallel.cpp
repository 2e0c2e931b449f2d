// Shares batches by memory node: samples addresses; device/numa cuts. Neither memory nor threads move.
#include "gemm/parallel.hpp"

#include "gemm/operand.hpp"

namespace tilewright {
namespace {

// Finding the nodes takes some hundred system calls, under 1 ms; walking this much memory takes several ms.
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

// Returns the node of an address, -1 if the operating system does not know it.
int node_here(const void* address) {
  try {
    const auto nodes = nodes_of(address, 1);
    return nodes.empty() ? -1 : nodes.front();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return -1;
  }
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

std::int64_t border_multiple(const GemmProblem& p, int threads) {
  // Sixteen floats are the widest vector and a cache line of an interleaved batch.
  constexpr std::int64_t vector = 16;
  // A batch of one block is cut inside it, at whole vectors and cache lines.
  if (is_interleaved(p)) return p.block >= p.batch_count ? vector : p.block;
  if (has_levels(p)) {
    const std::int64_t inner = batch_levels(p)[0].count;
    if (p.batch_count / inner >= 4 * threads) return inner;
  }
  return p.batch_count >= 4 * vector * threads ? vector : 1;
}

void share_out(const GemmProblem& p, const Operands& o, int threads,
               const std::function<void(std::int64_t first, std::int64_t count)>& run) {
  const std::int64_t multiple = border_multiple(p, threads);
  const auto ranges = worth_asking(p, threads)
                          ? ranges_by_node(numa_nodes(), p, o, threads, multiple, node_here)
                          : std::vector<ThreadRange>();
  if (ranges.empty()) return parallel_ranges(threads, p.batch_count, multiple, run);
  // Threads take the runs of their own node first, then help the others.
  NodeQueue queue(ranges);
  run_team(threads, [&](int, int) {
    const int node = current_node();
    while (const ThreadRange* range = queue.take(node)) run(range->first, range->count);
  });
}

}  // namespace tilewright
