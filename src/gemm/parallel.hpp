// Work of a call on several threads: how many threads it pays, and how it is cut: into one range per thread,
// into pieces that threads take one by one, or by the memory nodes that hold a large batch (Masliah 2016,
// section 4.4). The team of threads is in device/team.hpp.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/problem.hpp"
#include "device/numa.hpp"
#include "device/team.hpp"

namespace tilewright {

// The threads of a call: 1 inside a team or a parallel region, else the requested or OpenMP's default.
inline int allowed_threads(int asked) {
  if (is_in_team()) return 1;
  return usable_threads(asked > 0 ? asked : omp_get_max_threads());
}

// True if `work_s` seconds on one thread pay a second one. A parallel region costs about 1.4 us while
// OpenMP's threads still spin, about 25 us if they sleep (2 cores, GCC's runtime). By default a second thread
// must pay nearly always; a requested thread count is used as soon as it pays with spinning threads.
inline bool is_worth_threads(double work_s, int asked) { return work_s >= (asked > 1 ? 3e-6 : 20e-6); }

inline int threads_for(double work_s, int asked) {
  return is_worth_threads(work_s, asked) ? allowed_threads(asked) : 1;
}

// Handing out a piece costs under 1 us.
inline constexpr double batch_piece_s = 20e-6;
// A piece of sums also sets up its arrays of addresses.
inline constexpr double sums_piece_s = 40e-6;
// A single thread takes larger pieces of several lists, whose C stay in cache from list to list.
inline constexpr double sums_in_cache_s = 200e-6;

// Cuts work in order into pieces of at least piece_s seconds.
class PieceCutter {
 public:
  explicit PieceCutter(double piece_s) : piece_s_(piece_s) {}

  // True if the last piece has enough work, so that the next may begin.
  bool is_full() const { return left_s_ <= 0; }
  void begin() { left_s_ = piece_s_; }
  // Adds up to `count` problems to the piece, at least one. Returns how many.
  std::int64_t take(std::int64_t count, double problem_s) {
    const std::int64_t taken = std::min(count, std::int64_t(std::max(left_s_, 0.0) / problem_s) + 1);
    add(double(taken) * problem_s);
    return taken;
  }
  void add(double seconds) { left_s_ -= seconds; }

 private:
  double piece_s_, left_s_ = 0;
};

struct IndexShare {
  std::int64_t first, count;
};

// Returns one thread's indices in [0, total); borders are multiples of `multiple`.
inline IndexShare share_of_thread(std::int64_t total, std::int64_t multiple, std::int64_t thread,
                                  std::int64_t thread_count) {
  const std::int64_t units = (total - 1) / multiple + 1;
  // units * thread may pass 2^63, so the remainder is dealt out instead.
  const std::int64_t share = units / thread_count, rest = units % thread_count;
  const std::int64_t first = (share * thread + std::min(thread, rest)) * multiple;
  const std::int64_t count = (share + (thread < rest ? 1 : 0)) * multiple;
  return {first, std::min(count, total - first)};
}

// Calls f(first, count) for one contiguous run of [0, total) per thread; borders are multiples of `multiple`.
template <class F>
void parallel_ranges(int threads, std::int64_t total, std::int64_t multiple, F&& f) {
  threads = int(std::min<std::int64_t>(threads, (total - 1) / multiple + 1));
  if (threads <= 1) {
    f(std::int64_t(0), total);
    return;
  }
  run_team(threads, [&](std::int64_t thread, std::int64_t thread_count) {
    const IndexShare share = share_of_thread(total, multiple, thread, thread_count);
    if (share.count > 0) f(share.first, share.count);
  });
}

// Calls f(index) for each index in [0, count), handed out one at a time.
template <class F>
void parallel_each(int threads, std::int64_t count, F&& f) {
  run_each(threads, count, std::forward<F>(f));
}

// Returns the runs of problems of each memory node, found from the addresses of C, which is written. Empty if
// the batch is too small to query the operating system, lies on one node or at an unknown place. Borders are
// multiples of `multiple` problems. node_of_address returns -1 if the node is unknown.
std::vector<ThreadRange> ranges_by_node(const std::vector<NumaNode>& nodes, const GemmProblem& problem,
                                        const Operands& operands, int threads, std::int64_t multiple,
                                        const std::function<int(const void*)>& node_of_address);

// Returns the multiple for borders between the problems of threads: kernels with several problems per vector
// finish a run without a tail, and no two threads write one cache line.
std::int64_t border_multiple(const GemmProblem& problem, int threads);

// Calls run(first, count) for runs of the batch on several threads; each takes the runs on its own memory
// node first. With one node, or if caches hold the batch, each thread gets an equal share.
void share_out(const GemmProblem& problem, const Operands& operands, int threads,
               const std::function<void(std::int64_t first, std::int64_t count)>& run);

}  // namespace tilewright
