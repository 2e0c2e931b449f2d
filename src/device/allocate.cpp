// Memory of batches on the nodes that numa.cpp chooses, touched by its users; and pinned memory for all GPUs.
#include "tilewright/allocate.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "core/input/checked.hpp"
#include "core/refuse.hpp"
#include "device/numa.hpp"
#include "device/team.hpp"
#include "tilewright/types.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/copies.hpp"
#include "device/gpu/gpu.hpp"
#endif

namespace tilewright {
namespace {

// Shares of nodes end at multiples of this many problems, so that hardly any kernel call straddles two nodes.
constexpr std::int64_t problems_per_border = 64;
// Smaller blocks would only waste memory on huge pages.
constexpr std::int64_t huge_page_bytes = 2 << 20;

std::int64_t page_bytes() { return sysconf(_SC_PAGESIZE); }

// Rounds the end of a run to whole pages: the border page belongs to the earlier run.
std::int64_t page_border(std::int64_t bytes) {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

// Binds pages to nodes before any page exists. Returns "" or the first refusal.
std::string bind_pages(char* data, std::int64_t mapped_bytes, std::int64_t bytes_per_problem,
                       std::int64_t batch_count, Placement placement) {
  const auto& nodes = numa_nodes();
  if (placement == Placement::first_touch) return {};
  if (placement == Placement::interleave) {
    std::vector<int> all;
    for (const NumaNode& node : nodes) all.push_back(node.index);
    return place_pages(data, mapped_bytes, all, true);
  }
  std::string note;
  for (const ThreadRange& run : node_ranges(nodes, batch_count, problems_per_border)) {
    const std::int64_t first = page_border(run.first * bytes_per_problem);
    const std::int64_t end = page_border((run.first + run.count) * bytes_per_problem);
    const std::string refusal = place_pages(data + first, end - first, {run.node}, false);
    if (note.empty()) note = refusal;
  }
  return note;
}

// Creates the pages: each is touched by the thread that will work on it, unless that thread comes late.
void touch_pages(char* data, std::int64_t mapped_bytes, std::int64_t bytes_per_problem,
                 std::int64_t batch_count, Placement placement, int threads) {
  const auto ranges =
      thread_ranges(numa_nodes(), batch_count, placement == Placement::per_node ? problems_per_border : 1,
                    threads, placement);
  const std::int64_t page = page_bytes();
  run_team(threads, [&](int thread, int team) {
    // The team may have fewer threads than requested; then they take the ranges of the missing threads too.
    for (const ThreadRange& range : ranges) {
      if (range.thread % team != thread) continue;
      const std::int64_t end =
          std::min(page_border((range.first + range.count) * bytes_per_problem), mapped_bytes);
      for (std::int64_t at = page_border(range.first * bytes_per_problem); at < end; at += page)
        *static_cast<volatile char*>(data + at) = 0;
    }
  });
}

void check_pinned(std::int64_t bytes) {
  if (bytes < 1) refuse_argument("bytes", fmt::format("bytes = {} must be at least 1", bytes));
#if !TILEWRIGHT_HAS_GPU
  throw Error(ErrorCode::unsupported, "gpu", "this build has no GPU runtime to pin memory with");
#endif
}

#if TILEWRIGHT_HAS_GPU
std::unique_ptr<Gpu> first_gpu() {
  std::string reason;
  if (Gpu::count(reason) == 0)
    throw Error(ErrorCode::unsupported, "gpu", "no GPU to pin memory for: " + reason);
  return std::make_unique<Gpu>(0);
}

// Keeps the GPU alive as long as the memory that was pinned through it.
template <class Memory>
struct Held {
  std::unique_ptr<Gpu> gpu;
  Memory memory;
};
#endif

}  // namespace

inline namespace v0_2 {
BatchBuffer allocate_batch(std::int64_t bytes_per_problem, std::int64_t batch_count, Placement placement,
                           int threads) {
  refuse_negative("bytes_per_problem", bytes_per_problem);
  refuse_negative("batch_count", batch_count);
  refuse_negative("threads", threads);
  const std::int64_t bytes = saturating_product(bytes_per_problem, batch_count);
  if (bytes > std::numeric_limits<std::int64_t>::max() - page_bytes())
    refuse_argument("batch_count",
                    fmt::format("batch_count = {} problems of {} bytes are more than 2^63 bytes", batch_count,
                                bytes_per_problem));
  if (threads == 0) threads = omp_get_max_threads();
  if (is_in_team()) threads = 1;

  BatchBuffer buffer;
  buffer.placement_ = placement;
  if (bytes == 0) return buffer;
  const std::int64_t mapped = page_border(bytes);
  void* data = mmap(nullptr, std::size_t(mapped), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    throw Error(ErrorCode::out_of_memory, "batch_count",
                fmt::format("no memory for batch_count = {} problems of {} bytes ({} bytes)", batch_count,
                            bytes_per_problem, bytes));
  buffer.data_ = data;
  buffer.bytes_ = bytes;
  buffer.mapped_bytes_ = mapped;
  if (bytes >= huge_page_bytes) madvise(data, std::size_t(mapped), MADV_HUGEPAGE);  // advice only: may fail
  buffer.note_ = bind_pages(static_cast<char*>(data), mapped, bytes_per_problem, batch_count, placement);
  touch_pages(static_cast<char*>(data), mapped, bytes_per_problem, batch_count, placement, threads);
  return buffer;
}

#if TILEWRIGHT_HAS_GPU
PinnedBlock allocate_pinned(std::int64_t bytes) {
  check_pinned(bytes);
  auto gpu = first_gpu();
  const Gpu& used = *gpu;
  const std::shared_ptr<Held<PinnedBuffer>> held(
      new Held<PinnedBuffer>{std::move(gpu), PinnedBuffer(used, std::size_t(bytes))});
  return {std::shared_ptr<void>(held, held->memory.data()), bytes};
}

PinnedBlock register_pinned(void* data, std::int64_t bytes) {
  check_pinned(bytes);
  if (data == nullptr) refuse_argument("data", "data is null");
  auto gpu = first_gpu();
  if (is_pinned_memory(*gpu, data, 1)) refuse_argument("data", "data is already pinned");
  const Gpu& used = *gpu;
  const std::shared_ptr<Held<RegisteredMemory>> held(
      new Held<RegisteredMemory>{std::move(gpu), {used, data, std::size_t(bytes)}});
  return {std::shared_ptr<void>(held, data), bytes};
}
#else
PinnedBlock allocate_pinned(std::int64_t bytes) { return check_pinned(bytes), PinnedBlock(); }
PinnedBlock register_pinned(void*, std::int64_t bytes) { return check_pinned(bytes), PinnedBlock(); }
#endif
}  // namespace v0_2

void BatchBuffer::release() noexcept {
  if (data_ != nullptr) munmap(data_, std::size_t(mapped_bytes_));
  data_ = nullptr;
}

}  // namespace tilewright
