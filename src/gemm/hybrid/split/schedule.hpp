// The steps of one GPU for its share of a product or batch: which block is copied in, multiplied or copied
// out, in which buffer, and after which other steps. Executor and prediction follow it.
#pragma once

#include <array>
#include <vector>

#include "gemm/hybrid/split/shape.hpp"

namespace tilewright {

enum class StepKind : std::uint8_t { copy_in, multiply, add_c, copy_out };

struct StreamStep {
  StepKind kind = StepKind::multiply;
  ProductMatrix matrix = ProductMatrix::c;  // that a copy moves
  Lane lane = Lane::compute;
  Piece piece;
  Piece buffered;              // the piece at the beginning of the buffers
  std::array<int, 3> slots{};  // of the buffers of each matrix
  int from_slot = 0;           // the buffer of the late C that an add_c adds
  bool adds = false;           // the product of a later slice of k adds to the buffer
  // A slice of the resident operand: its number, and the share that gets it from the host and passes it on.
  int unit = -1, owner = 0;
  bool leaves_c = false;    // a product without C, which is added later
  bool waited_for = false;  // by a step of another lane
  // The number of the last step of each lane that must have ended before; -1: none.
  std::array<int, lane_count> after{-1, -1, -1};

  bool is_from_peer(int share) const { return unit >= 0 && owner != share; }
};

// A buffer in device memory, for blocks as they are stored.
struct StepBuffer {
  std::int64_t rows = 0, columns = 0, ld = 0;
  std::int64_t bytes(std::int64_t element_bytes) const { return ld * columns * element_bytes; }
};

struct StreamSchedule {
  std::vector<StreamStep> steps;                   // in the order in which they are queued
  std::array<std::vector<StepBuffer>, 3> buffers;  // of each matrix, by slot
  int units = 0;                                   // slices of the resident operand
  std::int64_t bytes(std::int64_t element_bytes) const;

  int slot(const StreamStep& step, ProductMatrix which) const { return step.slots[std::size_t(which)]; }
  const StepBuffer& buffer(const StreamStep& step, ProductMatrix which) const {
    return buffers[std::size_t(which)][std::size_t(slot(step, which))];
  }
};

// Cuts columns (or rows) into tiles: `first`, then up to `tile`, to which smaller first ones double, and at
// the end always half of the rest, but at least `last`.
std::vector<IndexRange> tile_extents(const IndexRange& all, std::int64_t first, std::int64_t tile,
                                     std::int64_t last);

// Cuts k into slices that get deeper: each adds to C once more, and only the first must arrive soon.
std::vector<IndexRange> slice_extents(std::int64_t k, std::int64_t slice);

// The steps of each share of the split. `peers`: the numbers of the shares that can copy slices of the
// resident operand from one another; each copies its part of them from the host.
std::vector<StreamSchedule> make_schedules(const StreamShape& shape, const Split& split,
                                           const std::vector<int>& peers);

// The product that a step forms in device memory.
GemmProblem device_product(const StreamShape& shape, const StreamSchedule& schedule, const StreamStep& step);
// The offset of the step's block of the matrix in its buffer.
std::int64_t buffer_offset_bytes(const StreamShape& shape, const StreamSchedule& schedule,
                                 const StreamStep& step, ProductMatrix which);

// True if all shares have the same slices of the resident operand, which GPUs can then copy from one another.
bool have_same_slices(const StreamShape& shape, const Split& split);

// Device memory of a share's buffers.
std::int64_t schedule_bytes(const StreamShape& shape, const GpuShare& share);

}  // namespace tilewright
