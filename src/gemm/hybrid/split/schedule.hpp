// What one GPU does for its share of a product, step by step: which block is copied in, multiplied or copied
// out, in which buffer, and after which other steps. The executor does the steps and the prediction times
// them, so that both speak of the same thing. It knows no device and no seconds.
#pragma once

#include <array>
#include <vector>

#include "gemm/hybrid/split/shape.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"

namespace tilewright {

enum class StepKind : std::uint8_t { resident_in, streamed_in, c_in, multiply, add_c, c_out };

struct StreamStep {
  StepKind kind = StepKind::multiply;
  Lane lane = Lane::compute;
  Piece piece;
  Piece buffered;   // the piece that the buffers are laid out for, of which only the beginnings count
  int ab_slot = 0;  // of the buffers of the streamed operand and, where it does not stay, the resident one
  int c_slot = 0;
  int from_slot = 0;  // of C, that an add_c adds what came in later from
  bool adds = false;  // a product onto what is there: of a later slice of k
  // Of a resident_in: the number of its block, and the share that has it from the host. Another share than
  // its own: it is copied from that GPU.
  int unit = -1, owner = 0;
  bool leaves_c = false;    // a product that does not look at C, which is added later
  bool waited_for = false;  // by a step of another lane
  // The last step of each lane, by number, that must have ended before; -1: none.
  std::array<int, lane_count> after{-1, -1, -1};
};

// A buffer in device memory, for blocks as they are stored.
struct StepBuffer {
  std::int64_t rows = 0, columns = 0, ld = 0;
  std::int64_t bytes(std::int64_t element_bytes) const { return ld * columns * element_bytes; }
};

struct StreamSchedule {
  std::vector<StreamStep> steps;                  // in the order in which they are queued
  std::vector<StepBuffer> resident, streamed, c;  // by slot
  int units = 0;                                  // blocks of the resident operand
  std::int64_t bytes(std::int64_t element_bytes) const;
  bool resident_stays() const { return resident.size() == 1; }
};

// Columns (or rows) of the tiles that `count` is cut into: `first`, then as many as `tile`, to which smaller
// first ones double, and at the end always half of what is left, as long as that is no less than `last`.
std::vector<IndexRange> tile_extents(const IndexRange& all, std::int64_t first, std::int64_t tile,
                                     std::int64_t last);

// Slices of k, of which later ones are deeper: each adds to C once more, and only the first must come soon.
std::vector<IndexRange> slice_extents(std::int64_t k, std::int64_t slice);

// The steps of one share of the split. `peers`: the shares, by number, that can have blocks of the resident
// operand from one another, this one among them; they then take turns in getting them from the host.
StreamSchedule make_schedule(const StreamShape& shape, const GpuShare& share, int share_index,
                             const std::vector<int>& peers);

// Whether all shares take the resident operand by the same slices, which can then go from hand to hand.
bool have_same_slices(const StreamShape& shape, const Split& split);

// Device memory of a share's buffers, without laying out its steps.
std::int64_t schedule_bytes(const StreamShape& shape, const GpuShare& share);

}  // namespace tilewright
