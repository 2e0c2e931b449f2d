// The three schedules of a share. A resident operand that fits arrives by slices of k while the first tile is
// computed, and stays; further tiles pass through a few buffers. If it does not fit, blocks of C stay while
// slices of both operands pass by. Pieces of a batch pass through a few buffers.
#include "gemm/hybrid/split/schedule.hpp"

#include <algorithm>

namespace tilewright {
namespace {

constexpr std::int64_t width_grain = 32;  // of tiles: kernels are faster for multiples
constexpr std::int64_t pad_bytes = 128;

std::int64_t up_to_multiple(std::int64_t x, std::int64_t grain) { return (x + grain - 1) / grain * grain; }

// Columns have no gaps, for the fastest copies, unless they need padding to be aligned for vectors.
StepBuffer step_buffer(const StoredBlock& block, std::int64_t element_bytes) {
  const bool aligned = block.rows * element_bytes % 16 == 0;
  const std::int64_t ld =
      aligned ? block.rows : up_to_multiple(block.rows * element_bytes, pad_bytes) / element_bytes;
  return {block.rows, block.columns, std::max<std::int64_t>(1, ld)};
}

// Equal parts of at most `most`.
std::vector<IndexRange> even_extents(const IndexRange& all, std::int64_t most) {
  std::vector<IndexRange> parts;
  if (all.count <= 0) return parts;
  const std::int64_t count = (all.count + most - 1) / most;
  const std::int64_t each = std::min(most, up_to_multiple((all.count + count - 1) / count, width_grain));
  for (std::int64_t first = all.first; first < all.end(); first += each)
    parts.push_back({first, std::min(each, all.end() - first)});
  return parts;
}

bool stays(const StreamShape& shape, const GpuShare& share) { return share.panel_k >= shape.k(); }

std::int64_t ring_slice(const GpuShare& share) {
  return std::max<std::int64_t>(1, share.panel_k / std::max(2, share.stages));
}

void lay_out_tiles(const StreamShape& shape, const GpuShare& share, StreamSchedule& schedule) {
  const std::int64_t es = shape.element_bytes();
  const Piece all = shape.whole({0, share.count});
  const auto add = [&](ProductMatrix which, const Piece& piece) {
    schedule.buffers[std::size_t(which)].push_back(step_buffer(shape.stored(which, piece), es));
  };
  const auto add_tile = [&](std::int64_t width) {
    const Piece tile = shape.whole({0, std::min(width, share.count)});
    add(shape.streamed(), tile);
    add(ProductMatrix::c, tile);
  };
  if (stays(shape, share)) {
    add(shape.resident(), all);
    add_tile(share.first_tile);
    const std::int64_t left = share.count - share.first_tile;
    for (int i = 0; left > 0 && i < share.stages; ++i) add_tile(std::min(share.tile, left));
    auto& c = schedule.buffers[std::size_t(ProductMatrix::c)];
    if (share.adds_c && shape.reads_c()) c.push_back(c[0]);
    return;
  }
  const Piece block{{0, std::min(share.panel_other, shape.across())},
                    {0, std::min(share.tile, share.count)},
                    {0, std::min(ring_slice(share), shape.k())}};
  for (int i = 0; i < std::max(2, share.stages); ++i) {
    add(shape.resident(), block);
    add(shape.streamed(), block);
  }
  const bool one_block = block.across.count >= shape.across() && share.tile >= share.count;
  for (int i = 0; i < (one_block ? 1 : 2); ++i) add(ProductMatrix::c, block);
}

// Packed matrices of the largest piece.
void lay_out_problems(const StreamShape& shape, const std::vector<IndexRange>& pieces, int stages,
                      StreamSchedule& schedule) {
  std::int64_t most = 0;
  for (const IndexRange& piece : pieces) most = std::max(most, piece.count);
  const std::int64_t slots = std::clamp<std::int64_t>(stages, 1, std::int64_t(pieces.size()));
  for (const ProductMatrix which : product_matrices) {
    const std::int64_t elements = shape.device_bytes(which, most) / shape.element_bytes();
    schedule.buffers[std::size_t(which)].assign(std::size_t(shape.is_shared(which) ? 1 : slots),
                                                {elements, 1, elements});
  }
}

// Appends steps and tracks the last use of each buffer.
class Writer {
 public:
  Writer(const StreamShape& shape, const GpuShare& share, int share_index, const std::vector<int>& peers)
      : shape_(shape), share_(share), index_(share_index), peers_(peers) {
    if (shape.is_batch()) {
      pieces_ = shape.pieces({share.first, share.count}, share.tile);
      lay_out_problems(shape, pieces_, share.stages, schedule_);
    } else {
      lay_out_tiles(shape, share, schedule_);
    }
    std::size_t most = 0;
    for (const auto& buffers : schedule_.buffers) most = std::max(most, buffers.size());
    for (auto* last : {&last_product_of_ab_, &last_product_of_c_, &last_out_}) last->assign(most, -1);
  }

  StreamSchedule write() {
    if (share_.count > 0)
      shape_.is_batch() ? write_batch() : stays(shape_, share_) ? write_resident() : write_blocked();
    for (std::size_t i = 0; i < schedule_.steps.size(); ++i)
      for (int lane = 0; lane < lane_count; ++lane) {
        const int before = schedule_.steps[i].after[std::size_t(lane)];
        if (before >= 0 && Lane(lane) != schedule_.steps[i].lane)
          schedule_.steps[std::size_t(before)].waited_for = true;
      }
    return std::move(schedule_);
  }

 private:
  // The buffers of A and B, and of C. A matrix that stays, or serves all problems, has one.
  struct Slots {
    int ab = 0, c = 0;
  };

  StreamStep& add(StepKind kind, Lane lane, const Piece& piece, const Piece& buffered, const Slots& slots) {
    StreamStep step;
    step.kind = kind, step.lane = lane, step.piece = piece, step.buffered = buffered;
    for (const ProductMatrix which : product_matrices) {
      const auto i = std::size_t(which);
      const int last = int(schedule_.buffers[i].size()) - 1;
      step.slots[i] = std::min(which == ProductMatrix::c ? slots.c : slots.ab, last);
    }
    schedule_.steps.push_back(step);
    return schedule_.steps.back();
  }
  int last_step() const { return int(schedule_.steps.size()) - 1; }
  static int& at(StreamStep& step, Lane lane) { return step.after[std::size_t(lane)]; }

  StreamStep& copy_in(ProductMatrix which, Lane lane, const Piece& piece, const Piece& buffered,
                      const Slots& slots) {
    StreamStep& step = add(StepKind::copy_in, lane, piece, buffered, slots);
    step.matrix = which;
    if (lane == Lane::in) last_in_ = last_step();
    return step;
  }
  void streamed_in(const Piece& piece, const Piece& buffered, const Slots& slots) {
    StreamStep& step = copy_in(shape_.streamed(), Lane::in, piece, buffered, slots);
    at(step, Lane::compute) = last_product_of_ab_[std::size_t(slots.ab)];
  }
  void c_in(const Piece& piece, const Piece& buffered, const Slots& slots) {
    StreamStep& step = copy_in(ProductMatrix::c, Lane::in, piece, buffered, slots);
    at(step, Lane::compute) = last_product_of_c_[std::size_t(slots.c)];
    at(step, Lane::out) = last_out_[std::size_t(slots.c)];
  }
  void product(const Piece& piece, const Piece& buffered, const Slots& slots, bool adds, int after_out = -1) {
    StreamStep& step = add(StepKind::multiply, Lane::compute, piece, buffered, slots);
    step.adds = adds;
    at(step, Lane::in) = last_in_;
    at(step, Lane::out) = after_out;
    if (!adds && !shape_.reads_c())
      at(step, Lane::out) = std::max(after_out, last_out_[std::size_t(slots.c)]);
    last_product_of_ab_[std::size_t(slots.ab)] = last_step();
    last_product_of_c_[std::size_t(slots.c)] = last_step();
  }
  void c_out(const Piece& piece, const Piece& buffered, const Slots& slots) {
    StreamStep& step = add(StepKind::copy_out, Lane::out, piece, buffered, slots);
    at(step, Lane::compute) = last_product_of_c_[std::size_t(slots.c)];
    last_out_[std::size_t(slots.c)] = last_step();
  }

  // Slices of another share are copied on the lane that is idle until the first tile leaves.
  int resident_in(const Piece& piece, const Piece& buffered, const Slots& slots, int unit, int owner) {
    StreamStep& step =
        copy_in(shape_.resident(), owner == index_ ? Lane::in : Lane::out, piece, buffered, slots);
    step.unit = unit, step.owner = owner;
    if (!stays(shape_, share_)) at(step, Lane::compute) = last_product_of_ab_[std::size_t(slots.ab)];
    return last_step();
  }

  // A matrix that serves all problems arrives once. A piece enters its buffers when the C there has left.
  void write_batch() {
    const int slots = int(schedule_.buffers[std::size_t(ProductMatrix::c)].size());
    const Piece first = shape_.whole(pieces_[0]);
    for (const ProductMatrix which : product_matrices)
      if (shape_.is_shared(which)) copy_in(which, Lane::in, first, first, {});
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Piece piece = shape_.whole(pieces_[i]);
      const int slot = int(i) % slots;
      for (const ProductMatrix which : product_matrices)
        if (shape_.comes_with_pieces(which))
          at(copy_in(which, Lane::in, piece, piece, {slot, slot}), Lane::out) = last_out_[std::size_t(slot)];
      product(piece, piece, {slot, slot}, false);
      c_out(piece, piece, {slot, slot});
    }
  }

  void write_resident() {
    const IndexRange all{share_.first, share_.count};
    const std::vector<IndexRange> tiles = tile_extents(all, share_.first_tile, share_.tile, share_.last_tile);
    first_tile(shape_.whole(tiles[0]));
    for (std::size_t i = 1; i < tiles.size(); ++i) {
      const Piece piece = shape_.whole(tiles[i]);
      const int slot = 1 + int(i - 1) % std::max(1, share_.stages);
      const Slots slots{slot, slot};
      streamed_in(piece, piece, slots);
      if (shape_.reads_c()) c_in(piece, piece, slots);
      product(piece, piece, slots, false);
      c_out(piece, piece, slots);
    }
  }

  // Rounds of a slice of the resident operand for each peer, which copies its own from the host first.
  void first_tile(const Piece& whole) {
    const std::vector<IndexRange> slices = slice_extents(shape_.k(), share_.slice_k);
    const bool adds_c = share_.adds_c && shape_.reads_c();
    const std::vector<int> turns = peers_.empty() ? std::vector<int>{index_} : peers_;
    const auto sliced = [&](std::size_t i) { return Piece{whole.across, whole.along, slices[i]}; };
    schedule_.units = int(slices.size());
    if (!share_.slices_streamed) streamed_in(whole, whole, {});
    if (shape_.reads_c() && !adds_c) c_in(whole, whole, {});
    for (std::size_t i = 0; i < slices.size(); ++i) {
      if (i % turns.size() == 0)
        for (std::size_t j = i; j < std::min(i + turns.size(), slices.size()); ++j)
          if (turns[j - i] == index_) resident_in(sliced(j), whole, {}, int(j), index_);
      int from_peer = -1;
      const int owner = turns[i % turns.size()];
      if (owner != index_) from_peer = resident_in(sliced(i), whole, {}, int(i), owner);
      if (share_.slices_streamed) streamed_in(sliced(i), whole, {});
      product(sliced(i), whole, {}, i > 0, from_peer);
      schedule_.steps.back().leaves_c = adds_c && i == 0;
      last_product_of_ab_[0] = -1;  // each slice has its own part of the buffer
    }
    if (adds_c) add_c(whole);
    c_out(whole, whole, {});
  }

  void add_c(const Piece& whole) {
    const int late = int(schedule_.buffers[std::size_t(ProductMatrix::c)].size()) - 1;  // a buffer of its own
    c_in(whole, whole, {0, late});
    StreamStep& step = add(StepKind::add_c, Lane::compute, whole, whole, {});
    step.from_slot = late;
    at(step, Lane::in) = last_in_;
    last_product_of_c_[0] = last_step();
  }

  void write_blocked() {
    std::vector<Piece> blocks;
    const IndexRange all{share_.first, share_.count}, k{0, shape_.k()};
    for (const IndexRange& tile : even_extents(all, share_.tile))
      for (const IndexRange& panel : even_extents({0, shape_.across()}, share_.panel_other))
        blocks.push_back({panel, tile, k});
    const std::vector<IndexRange> slices = even_extents(k, ring_slice(share_));
    const int c_slots = int(schedule_.buffers[std::size_t(ProductMatrix::c)].size());
    const int ab_slots = int(schedule_.buffers[std::size_t(ProductMatrix::a)].size());
    int ring = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      Slots slots{0, int(i) % c_slots};
      if (i == 0 && shape_.reads_c()) c_in(blocks[0], blocks[0], slots);
      std::vector<IndexRange> coming;  // of the next block of C, between this one's slices
      if (i + 1 < blocks.size() && shape_.reads_c())
        coming = even_extents(
            blocks[i + 1].along,
            std::max<std::int64_t>(width_grain, blocks[i + 1].along.count / std::int64_t(slices.size())));
      std::size_t came = 0;
      for (std::size_t s = 0; s < slices.size(); ++s) {
        slots.ab = ring++ % ab_slots;
        const Piece piece{blocks[i].across, blocks[i].along, slices[s]};
        resident_in(piece, piece, slots, -1, index_);
        streamed_in(piece, piece, slots);
        product(piece, Piece{piece.across, piece.along, piece.k}, slots, s > 0);
        const std::size_t until = coming.size() * (s + 1) / slices.size();
        for (; came < until; ++came)
          c_in({blocks[i + 1].across, coming[came], k}, blocks[i + 1], {0, int(i + 1) % c_slots});
      }
      c_out(blocks[i], blocks[i], slots);
    }
  }

  const StreamShape& shape_;
  const GpuShare& share_;
  int index_;
  const std::vector<int>& peers_;
  StreamSchedule schedule_;
  std::vector<IndexRange> pieces_;  // of a batch
  std::vector<int> last_product_of_ab_, last_product_of_c_, last_out_;
  int last_in_ = -1;
};

}  // namespace

std::int64_t StreamSchedule::bytes(std::int64_t element_bytes) const {
  std::int64_t sum = 0;
  for (const auto& slots : buffers)
    for (const StepBuffer& buffer : slots) sum += buffer.bytes(element_bytes);
  return sum;
}

std::vector<IndexRange> tile_extents(const IndexRange& all, std::int64_t first, std::int64_t tile,
                                     std::int64_t last) {
  std::vector<IndexRange> tiles;
  const std::int64_t least = std::max(width_grain, up_to_multiple(last, width_grain));
  std::int64_t at = all.first, ramp = std::max<std::int64_t>(1, first);
  while (at < all.end()) {
    const std::int64_t left = all.end() - at;
    const std::int64_t most = tiles.empty() ? ramp : std::min(tile, ramp);
    const std::int64_t half = std::max(least, up_to_multiple((left + 1) / 2, width_grain));
    const std::int64_t wanted = tiles.empty() ? ramp : std::min(most, half);
    const std::int64_t width = left - wanted < least / 2 ? std::min(left, most) : wanted;
    tiles.push_back({at, std::min(width, left)});
    at += tiles.back().count;
    ramp = std::max(ramp, std::min(tile, 2 * ramp));
  }
  return tiles;
}

std::vector<IndexRange> slice_extents(std::int64_t k, std::int64_t slice) {
  std::vector<IndexRange> slices;
  std::int64_t depth = std::max<std::int64_t>(1, slice);
  for (std::int64_t at = 0; at < k;) {
    const std::int64_t left = k - at;
    const std::int64_t taken = left < depth + depth / 2 ? left : depth;
    slices.push_back({at, taken});
    at += taken;
    if (slices.size() >= 2) depth = std::min(2 * depth, 4 * std::max<std::int64_t>(1, slice));
  }
  return slices;
}

std::vector<StreamSchedule> make_schedules(const StreamShape& shape, const Split& split,
                                           const std::vector<int>& peers) {
  std::vector<StreamSchedule> all;
  for (std::size_t i = 0; i < split.gpus.size(); ++i)
    all.push_back(Writer(shape, split.gpus[i], int(i), peers).write());
  return all;
}

GemmProblem device_product(const StreamShape& shape, const StreamSchedule& schedule, const StreamStep& step) {
  if (shape.is_batch()) return shape.packed_product(step.piece.along);
  GemmProblem p = shape.part(step.piece);
  p.location = Location::device;
  p.lda = schedule.buffer(step, ProductMatrix::a).ld;
  p.ldb = schedule.buffer(step, ProductMatrix::b).ld;
  p.ldc = schedule.buffer(step, ProductMatrix::c).ld;
  if (step.adds) p.beta = Scalar::one;
  if (step.leaves_c) p.beta = Scalar::zero;
  return p;
}

std::int64_t buffer_offset_bytes(const StreamShape& shape, const StreamSchedule& schedule,
                                 const StreamStep& step, ProductMatrix which) {
  if (shape.is_batch()) return 0;
  const StoredBlock block = shape.stored(which, step.piece), origin = shape.stored(which, step.buffered);
  return ((block.column - origin.column) * schedule.buffer(step, which).ld + block.row - origin.row) *
         shape.element_bytes();
}

bool have_same_slices(const StreamShape& shape, const Split& split) {
  return std::all_of(split.gpus.begin(), split.gpus.end(), [&](const GpuShare& share) {
    return stays(shape, share) && share.slice_k == split.gpus[0].slice_k;
  });
}

std::int64_t schedule_bytes(const StreamShape& shape, const GpuShare& share) {
  StreamSchedule schedule;
  lay_out_tiles(shape, share, schedule);
  return schedule.bytes(shape.element_bytes());
}

}  // namespace tilewright
