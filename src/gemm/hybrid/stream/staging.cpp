// Buffers are filled as soon as they are free; a device is waited for only when all of them are being copied.
#include "gemm/hybrid/stream/staging.hpp"

#include <algorithm>
#include <cstring>

namespace tilewright {
namespace {

constexpr std::int64_t slots_of_ring = 8;
constexpr std::int64_t least_slot_bytes = 4096;

std::int64_t column_bytes(const BlockShape& shape) { return shape.rows * shape.element_bytes; }

StagedBlock part_of(const StagedBlock& block, std::int64_t row, std::int64_t rows, std::int64_t column,
                    std::int64_t columns) {
  const auto moved = [&](const Block& b) {
    return Block{static_cast<char*>(b.data) + column * b.pitch_bytes + row * block.shape.element_bytes,
                 b.pitch_bytes};
  };
  return {moved(block.host), moved(block.device), {rows, columns, block.shape.element_bytes}};
}

void copy_columns(const Block& to, const Block& from, const BlockShape& shape) {
  const std::int64_t bytes = column_bytes(shape);
  const bool joined = to.pitch_bytes == bytes && from.pitch_bytes == bytes;
  for (std::int64_t j = 0; j < (joined ? 1 : shape.columns); ++j)
    std::memcpy(static_cast<char*>(to.data) + j * to.pitch_bytes,
                static_cast<const char*>(from.data) + j * from.pitch_bytes,
                std::size_t(joined ? shape.bytes() : bytes));
}

// Copies columns or gathered problems first ... first + count - 1 between host memory and a packed buffer.
void copy_items(const StagedBlock& block, void* buffer, bool in, std::int64_t first, std::int64_t count) {
  const auto copy = [in](const HostPart& host, void* packed) {
    const Block at{packed, column_bytes(host.shape)};
    in ? copy_columns(at, host.at, host.shape) : copy_columns(host.at, at, host.shape);
  };
  const GatheredProblems& g = block.gathered;
  if (g.shape == nullptr) {
    const StagedBlock part = part_of(block, 0, block.shape.rows, first, count);
    return copy({part.host, part.shape}, static_cast<char*>(buffer) + first * column_bytes(block.shape));
  }
  const std::int64_t bytes = g.shape->gathered_item_bytes(g.matrix, g.problems);
  for (std::int64_t i = first; i < first + count; ++i)
    copy(g.shape->gathered_item(g.matrix, block.host.data, g.problems, i),
         static_cast<char*>(buffer) + i * bytes);
}

// A thread copies about so many bytes at a time.
constexpr std::int64_t piece_bytes = std::int64_t(128) << 10;

void submit_copy(Workers& team, const StagedBlock& block, void* buffer, bool in, Workers::Ticket& ticket) {
  const GatheredProblems& g = block.gathered;
  const bool gathers = g.shape != nullptr;
  const std::int64_t bytes =
      gathers ? g.shape->gathered_item_bytes(g.matrix, g.problems) : column_bytes(block.shape);
  team.submit(
      gathers ? g.shape->gathered_items(g.matrix, g.problems) : block.shape.columns,
      std::max<std::int64_t>(1, piece_bytes / std::max<std::int64_t>(1, bytes)),
      [block, buffer, in](std::int64_t first, std::int64_t count) {
        copy_items(block, buffer, in, first, count);
      },
      ticket);
}

}  // namespace

std::vector<StagedBlock> pieces_of(const StagedBlock& block, std::int64_t bytes) {
  if (block.gathered.shape != nullptr) return {block};
  std::vector<StagedBlock> pieces;
  const BlockShape& shape = block.shape;
  const std::int64_t rows = std::min(shape.rows, std::max<std::int64_t>(1, bytes / shape.element_bytes));
  const std::int64_t columns =
      std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(1, column_bytes(shape)));
  for (std::int64_t j = 0; j < shape.columns; j += columns)
    for (std::int64_t i = 0; i < shape.rows; i += rows)
      pieces.push_back(
          part_of(block, i, std::min(rows, shape.rows - i), j, std::min(columns, shape.columns - j)));
  return pieces;
}

RingSize ring_size(std::int64_t ring_bytes, std::int64_t most_bytes) {
  const std::int64_t wanted = std::min(ring_bytes, most_bytes) / slots_of_ring;
  const std::int64_t slot_bytes = std::max(least_slot_bytes, wanted / 64 * 64);
  return {slot_bytes, std::size_t(std::clamp<std::int64_t>(ring_bytes / slot_bytes, 2, slots_of_ring))};
}

Block StagedCopies::slot(std::size_t index, const BlockShape& shape) const {
  return {static_cast<char*>(memory_->data()) + std::int64_t(index) * size_.slot_bytes, column_bytes(shape)};
}

StagedInput::StagedInput(StreamDevice& device, Workers& team, const RingSize& ring,
                         const std::vector<StagedBlock>& blocks)
    : StagedCopies(device, team, ring), marks_(ring.slots, 0) {
  for (const StagedBlock& block : blocks) {
    const std::vector<StagedBlock> pieces = pieces_of(block, slot_bytes());
    pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
    ends_.push_back(pieces_.size());
  }
}

void StagedInput::fill(std::size_t piece) {
  const StagedBlock& block = pieces_[piece];
  const std::size_t slot = piece % size_.slots;
  submit_copy(team_, block, this->slot(slot, block.shape).data, true, tickets_[slot]);
}

void StagedInput::fill_ahead() {
  while (filled_ < pieces_.size() && filled_ < copied_ + size_.slots) {
    if (filled_ >= size_.slots && !device_.has_passed(marks_[filled_ % size_.slots])) return;
    fill(filled_++);
  }
}

void StagedInput::copy_next() {
  const std::size_t end = ends_.front();
  ends_.pop_front();
  for (; copied_ < end; ++copied_) {
    const std::size_t slot = copied_ % size_.slots;
    fill_ahead();
    if (filled_ == copied_) {
      device_.wait(marks_[slot]);
      fill(filled_++);
    }
    team_.finish(tickets_[slot]);
    const StagedBlock& block = pieces_[copied_];
    device_.copy_in(block.device, this->slot(slot, block.shape), block.shape);
    marks_[slot] = device_.mark(Lane::in);
  }
}

void StagedOutput::add(int piece, const StagedBlock& block, StreamDevice::Mark after) {
  queued_.resize(std::max(queued_.size(), std::size_t(piece) + 1), 0);
  waiting_.push_back({piece, block, after});
}

void StagedOutput::empty(const Entry& entry) {
  void* const buffer = slot(entry.slot, entry.block.shape).data;
  emptying_.push_back(entry);
  // Submits the whole piece or nothing, and notes it without an allocation between: a piece that is submitted
  // but not noted would be computed again from the C that the team has overwritten.
  submit_copy(team_, entry.block, buffer, false, tickets_[entry.slot]);
  arrived_(entry.piece);  // the destructor finishes it whatever fails from here on
}

void StagedOutput::serve() {
  while (!emptying_.empty() && team_.is_finished(tickets_[emptying_.front().slot])) emptying_.pop_front();
  while (!copying_.empty() && device_.has_passed(copying_.front().mark)) {
    empty(copying_.front());
    copying_.pop_front();
  }
  while (!waiting_.empty() && copying_.size() + emptying_.size() < size_.slots) {
    Entry entry = waiting_.front();
    entry.slot = next_slot_++ % size_.slots;
    device_.hold_back(Lane::out, entry.mark);
    device_.copy_out(slot(entry.slot, entry.block.shape), entry.block.device, entry.block.shape);
    queued_[std::size_t(entry.piece)] = entry.mark = device_.mark(Lane::out);
    waiting_.pop_front();
    copying_.push_back(entry);
  }
}

void StagedOutput::wait_for_one() {
  if (!emptying_.empty()) return team_.finish(tickets_[emptying_.front().slot]);
  if (copying_.empty()) return;
  device_.wait(copying_.front().mark);
  empty(copying_.front());
  copying_.pop_front();
}

StreamDevice::Mark StagedOutput::mark_after(int piece) {
  const StreamDevice::Mark& mark = queued_[std::size_t(piece)];
  for (serve(); mark == 0; serve()) wait_for_one();
  return mark;
}

void StagedOutput::finish() {
  for (serve(); !waiting_.empty() || !copying_.empty() || !emptying_.empty(); serve()) wait_for_one();
}

}  // namespace tilewright
