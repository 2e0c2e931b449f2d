// BatchBuffer: maps one block, requests its pages on the right nodes and touches them from the threads that
// will use them. Which problems belong to which node and thread is decided in numa.cpp.
#include "tilewright/allocate.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "core/input/checked.hpp"
#include "device/numa.hpp"
#include "device/team.hpp"
#include "tilewright/types.hpp"

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
  const auto ranges = thread_ranges(batch_count, placement == Placement::per_node ? problems_per_border : 1,
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

}  // namespace

inline namespace v0_2 {
BatchBuffer allocate_batch(std::int64_t bytes_per_problem, std::int64_t batch_count, Placement placement,
                           int threads) {
  const auto refuse = [](const char* name, std::int64_t value) {
    if (value < 0)
      throw Error(ErrorCode::invalid_argument, name, fmt::format("{} = {} is negative", name, value));
  };
  refuse("bytes_per_problem", bytes_per_problem);
  refuse("batch_count", batch_count);
  refuse("threads", threads);
  const std::int64_t bytes = saturating_product(bytes_per_problem, batch_count);
  if (bytes > std::numeric_limits<std::int64_t>::max() - page_bytes())
    throw Error(ErrorCode::invalid_argument, "batch_count",
                fmt::format("batch_count = {} problems of {} bytes are more than 2^63 bytes", batch_count,
                            bytes_per_problem));
  if (threads == 0) threads = omp_get_max_threads();
  if (is_in_team()) threads = 1;

  BatchBuffer buffer;
  buffer.placement_ = placement;
  if (bytes == 0) return buffer;
  const std::int64_t mapped = page_border(bytes);
  void* data = mmap(nullptr, static_cast<std::size_t>(mapped), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    throw Error(ErrorCode::out_of_memory, "batch_count",
                fmt::format("no memory for batch_count = {} problems of {} bytes ({} bytes)", batch_count,
                            bytes_per_problem, bytes));
  buffer.data_ = data;
  buffer.bytes_ = bytes;
  buffer.mapped_bytes_ = mapped;
  if (bytes >= huge_page_bytes)
    madvise(data, static_cast<std::size_t>(mapped), MADV_HUGEPAGE);  // advice only: may fail
  buffer.note_ = bind_pages(static_cast<char*>(data), mapped, bytes_per_problem, batch_count, placement);
  touch_pages(static_cast<char*>(data), mapped, bytes_per_problem, batch_count, placement, threads);
  return buffer;
}
}  // namespace v0_2

void BatchBuffer::release() noexcept {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(mapped_bytes_));
  data_ = nullptr;
}

}  // namespace tilewright
