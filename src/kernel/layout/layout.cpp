// The public layout conversions on the host: addresses, and groups of problems over threads.
#include "kernel/layout/layout.hpp"

#include <omp.h>

#include <algorithm>
#include <array>

#include "core/dispatch.hpp"
#include "device/team.hpp"
#include "kernel/layout/check.hpp"

namespace tilewright {
namespace {

using layout_check::ViewAccess;

constexpr std::int64_t group_problems = 64;  // a whole number of vectors of every type
template <class T>
T* matrix(const StridedBatch<T>& x, std::int64_t p) {
  return x.data + p * x.stride;
}
template <class T>
T* matrix(const PointerBatch<T>& x, std::int64_t p) {
  return x.data[p];
}

// The common part of all groups. If neither side has gaps between columns, a matrix is one run.
template <class Plain, class T>
GroupCopy copy_between(const Plain& plain, const InterleavedBatch<T>& slots) {
  constexpr auto size = std::int64_t(sizeof(T));
  GroupCopy copy;
  copy.element_bytes = size;
  copy.pitch = slots.block * size;
  const bool packed = plain.ld == plain.rows && slots.ld == slots.rows;
  copy.rows = packed ? plain.rows * plain.cols : plain.rows;
  copy.runs = packed ? 1 : plain.cols;
  copy.matrix_step = plain.ld * size;
  copy.slots_step = slots.ld * copy.pitch;
  return copy;
}

// Calls body(first problem, problems, slots, first slot) for all groups of a batch, in parallel if it pays.
template <class T, class Body>
void for_each_group(const InterleavedBatch<T>& x, int threads, Body&& body) {
  if (x.rows == 0 || x.cols == 0 || x.count == 0) return;
  constexpr std::int64_t bytes_worth_a_team = 256 * 1024;
  const std::int64_t blocks = (x.count + x.block - 1) / x.block;
  const std::int64_t groups = (x.block + group_problems - 1) / group_problems;
  const std::int64_t block_step = x.block * x.ld * x.cols;
  const bool alone = is_in_team() || x.count * x.rows * x.cols * std::int64_t(sizeof(T)) < bytes_worth_a_team;
  const int team = alone ? 1 : threads > 0 ? threads : omp_get_max_threads();
  run_team(team, [&](std::int64_t thread, std::int64_t thread_count) {
    const std::int64_t share = blocks * groups / thread_count, rest = blocks * groups % thread_count;
    const std::int64_t begin = share * thread + std::min(thread, rest);
    for (std::int64_t index = begin; index < begin + share + (thread < rest ? 1 : 0); ++index) {
      const std::int64_t slot = index % groups * group_problems;
      const std::int64_t first = index / groups * x.block + slot;
      const std::int64_t slot_count = std::min(group_problems, x.block - slot);
      body(first, std::clamp<std::int64_t>(x.count - first, 0, slot_count), slot_count,
           x.data + (index / groups * block_step + slot));
    }
  });
}

template <class Plain, class T>
void interleave_batch(const Plain& from, const InterleavedBatch<T>& to, int threads) {
  // Counts are checked before addresses, whose number they give.
  layout_check::check_shape("from", from);
  layout_check::check_interleaved("to", to);
  layout_check::check_pair(from, to);
  layout_check::check_plain("from", from, ViewAccess::read);
  refuse_negative("threads", threads);
  const GroupCopy common = copy_between(from, to);
  for_each_group(to, threads, [&](std::int64_t first, std::int64_t count, std::int64_t slot_count, T* slots) {
    std::array<const void*, group_problems> matrices;
    for (std::int64_t p = 0; p < count; ++p) matrices[p] = matrix(from, first + p);
    GroupCopy copy = common;
    copy.count = count;
    copy.slot_count = slot_count;
    interleave_group(copy, matrices.data(), slots);
  });
}

template <class Plain, class T>
void deinterleave_batch(const InterleavedBatch<const T>& from, const Plain& to, int threads) {
  layout_check::check_interleaved("from", from);
  layout_check::check_shape("to", to);
  layout_check::check_pair(from, to);
  layout_check::check_plain("to", to, ViewAccess::write);
  refuse_negative("threads", threads);
  const GroupCopy common = copy_between(to, from);
  for_each_group(from, threads, [&](std::int64_t first, std::int64_t count, std::int64_t, const T* slots) {
    std::array<void*, group_problems> matrices;
    for (std::int64_t p = 0; p < count; ++p) matrices[p] = matrix(to, first + p);
    GroupCopy copy = common;
    copy.count = count;
    deinterleave_group(copy, slots, matrices.data());
  });
}

}  // namespace

std::int64_t interleaved_elements(std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t block,
                                  std::int64_t count) {
  layout_check::check_interleaved("batch", InterleavedBatch<const char>{"", rows, cols, ld, block, count});
  return (count + block - 1) / block * block * ld * cols;
}

template <class T>
void interleave(StridedBatch<const std::type_identity_t<T>> from, InterleavedBatch<T> to, int threads) {
  interleave_batch(from, to, threads);
}
template <class T>
void interleave(PointerBatch<const std::type_identity_t<T>> from, InterleavedBatch<T> to, int threads) {
  interleave_batch(from, to, threads);
}
template <class T>
void deinterleave(InterleavedBatch<const std::type_identity_t<T>> from, StridedBatch<T> to, int threads) {
  deinterleave_batch<StridedBatch<T>, T>(from, to, threads);
}
template <class T>
void deinterleave(InterleavedBatch<const std::type_identity_t<T>> from, PointerBatch<T> to, int threads) {
  deinterleave_batch<PointerBatch<T>, T>(from, to, threads);
}

#define TILEWRIGHT_LAYOUT(T)                                                      \
  template void interleave<T>(StridedBatch<const T>, InterleavedBatch<T>, int);   \
  template void interleave<T>(PointerBatch<const T>, InterleavedBatch<T>, int);   \
  template void deinterleave<T>(InterleavedBatch<const T>, StridedBatch<T>, int); \
  template void deinterleave<T>(InterleavedBatch<const T>, PointerBatch<T>, int);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_LAYOUT)
#undef TILEWRIGHT_LAYOUT

}  // namespace tilewright
