// Reads nodes from hwloc, once, cuts batches along them and places pages.
#include "device/numa.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

#include "core/host/fork_gate.hpp"
#include "core/refuse.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

struct Bitmap {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  Bitmap() = default;
  ~Bitmap() { hwloc_bitmap_free(set); }
  Bitmap& operator=(Bitmap&&) = delete;
};

// hwloc ends the process if memory runs out, so more than it needs is allocated first as a test.
hwloc_topology_t read_topology() {
  constexpr std::size_t more_than_needed = std::size_t(4) << 20;
  ::operator delete(::operator new(more_than_needed));
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) == 0) {
    if (hwloc_topology_load(topology) == 0) return topology;
    const int reason = errno;
    hwloc_topology_destroy(topology);
    errno = reason;
  }
  if (errno == ENOMEM) throw std::bad_alloc();
  throw Error(ErrorCode::internal, "", "hwloc could not read the topology of this machine");
}

struct Machine {
  struct Destroy {
    void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
  };
  const std::unique_ptr<hwloc_topology, Destroy> kept{read_topology()};
  const hwloc_topology_t topology = kept.get();
  std::vector<NumaNode> nodes;
  std::vector<int> node_of_cpu;

  Machine() {
    Bitmap usable;
    // If the affinity cannot be read, all cores of the topology count.
    if (hwloc_get_cpubind(topology, usable.set, HWLOC_CPUBIND_PROCESS) != 0)
      hwloc_bitmap_copy(usable.set, hwloc_topology_get_topology_cpuset(topology));
    // With OMP_PROC_BIND the calling thread is pinned to one place; its team may use all places.
    for (int place = 0; place < omp_get_num_places(); ++place) {
      std::vector<int> cpus(std::size_t(omp_get_place_num_procs(place)));
      omp_get_place_proc_ids(place, cpus.data());
      for (const int cpu : cpus) hwloc_bitmap_set(usable.set, unsigned(cpu));
    }
    if (!hwloc_bitmap_iszero(usable.set)) hwloc_topology_restrict(topology, usable.set, 0);
    nodes = numa_nodes(topology);
    for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));)
      for (int cpu = hwloc_bitmap_first(node->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(node->cpuset, cpu)) {
        if (std::size_t(cpu) >= node_of_cpu.size()) node_of_cpu.resize(std::size_t(cpu) + 1, -1);
        int& known = node_of_cpu[std::size_t(cpu)];
        if (known < 0) known = int(node->os_index);
      }
  }
  Machine& operator=(Machine&&) = delete;
};

const Machine& machine() {
  static constinit Once<const Machine> once;
  return once.get([] { return Machine(); });
}

// Returns the first processing unit of each core inside `cpuset`.
std::vector<int> core_cpus(hwloc_topology_t topology, hwloc_const_cpuset_t cpuset) {
  std::vector<int> cpus;
  Bitmap left;
  hwloc_bitmap_copy(left.set, cpuset);
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_inside_cpuset_by_type(topology, cpuset, HWLOC_OBJ_CORE, core));) {
    cpus.push_back(hwloc_bitmap_first(core->cpuset));
    hwloc_bitmap_andnot(left.set, left.set, core->cpuset);
  }
  // Machines that do not report cores still report processing units.
  for (int cpu = hwloc_bitmap_first(left.set); cpu >= 0; cpu = hwloc_bitmap_next(left.set, cpu))
    cpus.push_back(cpu);
  return cpus;
}

// Cuts [0, total) into `parts` contiguous runs with borders at multiples of `granularity`, the remainder to
// the first ones. Calls f(part, first, count) for those that are not empty.
template <class F>
void split_evenly(std::int64_t total, std::int64_t granularity, std::int64_t parts, F&& f) {
  if (total <= 0) return;
  const std::int64_t units = (total - 1) / granularity + 1;
  parts = std::clamp<std::int64_t>(parts, 1, units);
  const std::int64_t share = units / parts, rest = units % parts;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = (share * part + std::min(part, rest)) * granularity;
    const std::int64_t count = std::min((share + (part < rest ? 1 : 0)) * granularity, total - first);
    f(int(part), first, count);
  }
}

std::vector<ThreadRange> even_ranges(std::int64_t batch_count, std::int64_t granularity, int threads) {
  std::vector<ThreadRange> ranges;
  split_evenly(batch_count, granularity, threads, [&](int thread, std::int64_t first, std::int64_t count) {
    ranges.push_back({thread, -1, first, count});
  });
  return ranges;
}

// Deals threads to weights: at least one each, the others where the load per thread is largest (D'Hondt).
std::vector<int> deal_threads(const std::vector<std::int64_t>& weights, int threads) {
  std::vector<int> dealt(weights.size(), 1);
  for (int left = threads - int(weights.size()); left > 0; --left) {
    std::size_t most = 0;
    for (std::size_t i = 1; i < weights.size(); ++i)
      if (double(weights[i]) * (dealt[most] + 1) > double(weights[most]) * (dealt[i] + 1)) most = i;
    ++dealt[most];
  }
  return dealt;
}

// Splits runs of problems, each on a node, among threads. `weights` say how threads are dealt to the runs.
std::vector<ThreadRange> deal_runs(const std::vector<ThreadRange>& runs,
                                   const std::vector<std::int64_t>& weights, std::int64_t granularity,
                                   int threads) {
  std::vector<ThreadRange> ranges;
  const auto run_count = std::int64_t(runs.size());
  if (threads < run_count) {
    for (std::int64_t i = 0; i < run_count; ++i) {
      ranges.push_back(runs[std::size_t(i)]);
      ranges.back().thread = int(i * threads / run_count);
    }
    return ranges;
  }
  const std::vector<int> dealt = deal_threads(weights, threads);
  int thread = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    split_evenly(runs[i].count, granularity, dealt[i], [&](int part, std::int64_t first, std::int64_t count) {
      ranges.push_back({thread + part, runs[i].node, runs[i].first + first, count});
    });
    thread += dealt[i];
  }
  return ranges;
}

void check_split(std::int64_t batch_count, std::int64_t granularity, int threads) {
  refuse_outside("batch_count", batch_count, 0);
  refuse_outside("granularity", granularity, 1);
  refuse_outside("threads", threads, 1);
}

}  // namespace

std::vector<NumaNode> numa_nodes(hwloc_topology* topology) {
  std::vector<NumaNode> nodes;
  Bitmap taken, without_memory;
  bool memory_known = false;
  for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));)
    memory_known = memory_known || node->attr->numanode.local_memory > 0;
  for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));) {
    const auto bytes = std::int64_t(node->attr->numanode.local_memory);
    if (memory_known && bytes == 0) {
      hwloc_bitmap_or(without_memory.set, without_memory.set, node->cpuset);
      continue;
    }
    // The system allocates from the first of two memories near the same cores (fast and large).
    if (hwloc_bitmap_iszero(node->cpuset) || hwloc_bitmap_intersects(node->cpuset, taken.set)) continue;
    hwloc_bitmap_or(taken.set, taken.set, node->cpuset);
    nodes.push_back({int(node->os_index), core_cpus(topology, node->cpuset), bytes});
  }
  hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(topology);
  if (nodes.empty()) return {{0, core_cpus(topology, all), 0}};
  hwloc_bitmap_andnot(without_memory.set, without_memory.set, taken.set);
  std::size_t turn = 0;
  for (const int cpu : core_cpus(topology, without_memory.set))
    nodes[turn++ % nodes.size()].cpus.push_back(cpu);
  return nodes;
}

const std::vector<NumaNode>& numa_nodes() { return machine().nodes; }

std::vector<ThreadRange> node_ranges(const std::vector<NumaNode>& nodes, std::int64_t batch_count,
                                     std::int64_t granularity) {
  check_split(batch_count, granularity, 1);
  std::int64_t cores = 0, before = 0, border = 0;
  for (const NumaNode& node : nodes) cores += std::int64_t(node.cpus.size());
  if (cores == 0) refuse_argument("nodes", "nodes have no cores");
  const std::int64_t units = batch_count == 0 ? 0 : (batch_count - 1) / granularity + 1;
  std::vector<ThreadRange> ranges;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    before += std::int64_t(nodes[i].cpus.size());
    // Computes units * before / cores, rounded to the nearest unit, without a product that could pass 2^63.
    const std::int64_t next = units / cores * before + (units % cores * before + cores / 2) / cores;
    const std::int64_t first = border * granularity, end = std::min(next * granularity, batch_count);
    if (end > first) ranges.push_back({int(i), nodes[i].index, first, end - first});
    border = next;
  }
  return ranges;
}

std::vector<ThreadRange> thread_ranges(const std::vector<NumaNode>& nodes, std::int64_t batch_count,
                                       std::int64_t granularity, int threads, Placement placement) {
  check_split(batch_count, granularity, threads);
  if (placement != Placement::per_node) return even_ranges(batch_count, granularity, threads);
  const auto runs = node_ranges(nodes, batch_count, granularity);
  std::vector<std::int64_t> weights;
  for (const ThreadRange& run : runs)
    weights.push_back(std::int64_t(nodes[std::size_t(run.thread)].cpus.size()));
  return deal_runs(runs, weights, granularity, threads);
}

std::vector<ThreadRange> located_ranges(const std::vector<NumaNode>& nodes, std::int64_t batch_count,
                                        std::int64_t granularity, int threads,
                                        const std::function<int(std::int64_t)>& node_of) {
  check_split(batch_count, granularity, threads);
  if (nodes.size() < 2 || batch_count == 0) return even_ranges(batch_count, granularity, threads);
  const std::int64_t units = (batch_count - 1) / granularity + 1;
  const std::int64_t samples = std::min<std::int64_t>(units, 32 * std::int64_t(nodes.size()));
  const auto unit_of = [&](std::int64_t sample) {
    return units / samples * sample + units % samples * sample / samples;
  };
  std::vector<ThreadRange> runs;
  for (std::int64_t sample = 0, previous = 0; sample < samples; ++sample) {
    const std::int64_t unit = unit_of(sample);
    const int node = node_of(unit * granularity);
    if (node < 0) return even_ranges(batch_count, granularity, threads);
    if (runs.empty() || runs.back().node != node) {
      // The border lies in (previous, unit]: bisect until it is found.
      std::int64_t low = previous, high = unit;
      while (!runs.empty() && high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (node_of(middle * granularity) == node ? high : low) = middle;
      }
      runs.push_back({0, node, high * granularity, 0});
      if (runs.size() > 2 * nodes.size()) return even_ranges(batch_count, granularity, threads);
    }
    previous = unit;
  }
  std::vector<std::int64_t> weights;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].count = (i + 1 < runs.size() ? runs[i + 1].first : batch_count) - runs[i].first;
    weights.push_back(runs[i].count);
  }
  return deal_runs(runs, weights, granularity, threads);
}

NodeQueue::NodeQueue(std::vector<ThreadRange> ranges) {
  for (ThreadRange& range : ranges) {
    auto lane =
        std::find_if(lanes_.begin(), lanes_.end(), [&](const auto& l) { return l->node == range.node; });
    if (lane == lanes_.end()) {
      lanes_.push_back(std::make_unique<Lane>());
      lanes_.back()->node = range.node;
      lane = lanes_.end() - 1;
    }
    (*lane)->ranges.push_back(range);
  }
}

const ThreadRange* NodeQueue::take(int node) {
  const auto from = [](Lane& lane) -> const ThreadRange* {
    const std::size_t at = lane.next.fetch_add(1, std::memory_order_relaxed);
    return at < lane.ranges.size() ? &lane.ranges[at] : nullptr;
  };
  for (const bool own : {true, false})
    for (const auto& lane : lanes_)
      if ((lane->node == node) == own)
        if (const ThreadRange* range = from(*lane)) return range;
  return nullptr;
}

int current_node() {
  const int cpu = sched_getcpu();
  const auto& node_of_cpu = machine().node_of_cpu;
  return cpu < 0 || std::size_t(cpu) >= node_of_cpu.size() ? -1 : node_of_cpu[std::size_t(cpu)];
}

std::vector<int> nodes_of(const void* address, std::int64_t bytes) {
  Bitmap nodes;
  const int result = hwloc_get_area_memlocation(machine().topology, address, std::size_t(bytes), nodes.set,
                                                HWLOC_MEMBIND_BYNODESET);
  if (result != 0)
    throw Error(ErrorCode::unsupported, "",
                fmt::format("the operating system does not report the nodes of pages: {}",
                            std::error_code(errno, std::generic_category()).message()));
  std::vector<int> list;
  for (int node = hwloc_bitmap_first(nodes.set); node >= 0; node = hwloc_bitmap_next(nodes.set, node))
    list.push_back(node);
  return list;
}

std::string place_pages(void* address, std::int64_t bytes, const std::vector<int>& nodes, bool interleaved) {
  Bitmap set;
  for (const int node : nodes) hwloc_bitmap_set(set.set, unsigned(node));
  const auto policy = interleaved ? HWLOC_MEMBIND_INTERLEAVE : HWLOC_MEMBIND_BIND;
  if (bytes <= 0 || hwloc_set_area_membind(machine().topology, address, std::size_t(bytes), set.set, policy,
                                           HWLOC_MEMBIND_BYNODESET) == 0)
    return {};
  return fmt::format("the operating system did not bind pages to nodes: {}",
                     std::error_code(errno, std::generic_category()).message());
}

}  // namespace tilewright
