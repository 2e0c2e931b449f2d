// Batches of a call as launches see them.
#include "factor/gpu_batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "core/dispatch.hpp"
#include "core/refuse.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/device/machine.hpp"
#include "kernel/layout/layout.hpp"

namespace tilewright {
namespace {

// The levels of a batch with neighbours that are one level joined; the last is that of a launch.
struct JoinedLevels {
  std::array<MatrixBatch<char>::Level, MatrixBatch<char>::most_levels + 1> level{};
  std::size_t count = 0;
};
JoinedLevels joined_levels(const FactorOperand& x) {
  JoinedLevels joined;
  for (std::size_t i = 0; i < x.level_count; ++i) {
    const auto next = x.levels[i];
    if (joined.count > 0) {
      auto& last = joined.level[joined.count - 1];
      if (last.stride == next.count * next.stride) {
        last = {last.count * next.count, next.stride};
        continue;
      }
    }
    joined.level[joined.count++] = next;
  }
  return joined;
}

// Copies are of whole elements, which lie at multiples of their size.
void refuse_misplaced(const FactorOperand& x) {
  if (reinterpret_cast<std::uintptr_t>(x.data) % std::uintptr_t(x.element_bytes) == 0) return;
  refuse_argument(x.name, fmt::format("{} = {} is not a multiple of {} bytes, the size of an element", x.name,
                                      static_cast<const void*>(x.data), x.element_bytes));
}

constexpr int least_capability = 80;  // asynchronous copies

}  // namespace

std::int64_t problems_of_launch(const FactorWork& work) {
  std::int64_t each = work.count;
  for (const FactorOperand* x : {&work.a, &work.b}) {
    if (x == &work.b && !work.has_b) continue;
    const JoinedLevels joined = joined_levels(*x);
    if (joined.count > 1) each = std::gcd(each, joined.level[joined.count - 1].count);
  }
  return each;
}

FactorGpuBatch gpu_batch_of(const FactorOperand& x, std::int64_t first, std::int64_t rows, std::int64_t cols,
                            std::int64_t offset) {
  FactorGpuBatch batch;
  batch.rows = rows, batch.cols = cols;
  batch.row_step = x.row_step(), batch.col_step = x.col_step();
  batch.block = x.block, batch.block_stride = x.block * x.col_stride * x.cols;
  if (x.pointers != nullptr) {
    batch.pointers = x.pointers + first;
    return batch;
  }
  if (x.level_count > 0) batch.stride = x.levels[x.level_count - 1].stride;
  batch.data = x.address(first) + offset * x.element_bytes;
  return batch;
}

std::string gpu_declines(const FactorRequest& r) {
  if (r.work.shape.routine > Routine::trsm)
    return fmt::format("has no kernel of {}", to_string(r.work.shape.routine));
  const auto machine = Access::impl(r.context).gpus->open(r.work.queue.device);
  const GpuLimits& limits = machine->gpu().limits();
  if (limits.compute_capability < least_capability)
    return fmt::format("{} has no asynchronous copies", limits.name);
  return "";
}

std::int64_t sides_of(const FactorWork& work) {
  return work.has_b && work.shape.routine != Routine::inv ? work.shape.nrhs : 0;
}

bool scales_sides(const FactorWork& work) {
  if (work.shape.routine != Routine::trsm) return false;
  return dispatch(work.shape.dtype, [&]<class T>() { return *static_cast<const T*>(work.alpha) != T(1); });
}

bool has_one_info(const FactorWork& work) {
  return work.info.mode == InfoMode::any || work.info.mode == InfoMode::group;
}

std::int64_t problems_of_part(const FactorWork& work, std::int64_t first, std::int64_t most) {
  const std::int64_t level = problems_of_launch(work);
  std::int64_t count = std::min({most, level - first % level, work.count - first});
  const auto fit = [&](const FactorOperand& x) {
    if (x.block > 0) count = problems_in_blocks(first, count, work.count, x.block);
  };
  for (std::int64_t before = 0; before != count;) {
    before = count;
    fit(work.a);
    if (work.has_b) fit(work.b);
  }
  return count;
}

void refuse_misplaced(const FactorWork& work) {
  refuse_misplaced(work.a);
  if (work.has_b) refuse_misplaced(work.b);
}

void clear_one_info(const Gpu& gpu, const FactorWork& work) {
  if (has_one_info(work)) gpu.clear(work.info.codes, sizeof(int), sizeof(int), 1, work.queue.stream);
}

}  // namespace tilewright
