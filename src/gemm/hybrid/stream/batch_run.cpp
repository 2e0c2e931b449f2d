// Pieces become calls of a StreamDevice. The thread that queues waits for a slot's last piece before the next
// one enters it; with a few slots in flight the lanes stay busy meanwhile.
#include "gemm/hybrid/stream/batch_run.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace tilewright {

BatchRun::BatchRun(const StreamJob& job, CopyTeam& team, int index, StreamDevice& device)
    : job_(job),
      shape_(job.problem),
      team_(team),
      device_(device),
      share_(job.split.gpus[std::size_t(index)]),
      pieces_(shape_.pieces({share_.first, share_.count}, share_.tile)),
      arrived_(pieces_.size(), false),
      slots_(std::size_t(std::clamp<std::int64_t>(share_.stages, 1, std::int64_t(pieces_.size())))) {
  for (const BatchMatrix which : batch_matrices) {
    bool blocks = true;
    for (const IndexRange& piece : pieces_) blocks = blocks && shape_.block(which, piece).has_value();
    const std::int64_t span = shape_.span_bytes(which);
    staged_[std::size_t(which)] = !blocks || !device.is_pinned(host(which), span);
  }
  // A piece that was on its way into C when its device failed is neither old nor new. Where the host is to
  // compute it again from the old one, it has to come by way of a buffer.
  if (job.redo_on_host && shape_.reads_c()) staged_[std::size_t(BatchMatrix::c)] = true;
}

void* BatchRun::host(BatchMatrix which) const {
  const Operands& o = job_.operands;
  return which == BatchMatrix::c ? o.c : const_cast<void*>(which == BatchMatrix::a ? o.a : o.b);
}

void BatchRun::compute() noexcept {
  const auto begin = std::chrono::steady_clock::now();
  try {
    prepare();
    run_pieces();
  } catch (...) {
    failure_ = std::current_exception();
    try {
      device_.wait_all();  // what is queued may still use buffers
    } catch (...) {
      // It is lost, and does nothing any more.
    }
  }
  // Threads must not read or write buffers that are gone.
  for (Slot& slot : slots_) team_.finish(slot.filled), team_.finish(slot.emptied);
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void BatchRun::release() noexcept {
  slots_.clear();
  for (auto& memory : shared_) memory.reset();
  for (auto& memory : shared_staged_) memory.reset();
}

void BatchRun::prepare() {
  std::int64_t most = 0;
  for (const IndexRange& piece : pieces_) most = std::max(most, piece.count);
  for (const BatchMatrix which : batch_matrices) {
    const auto i = std::size_t(which);
    const std::int64_t bytes = shape_.device_bytes(which, most);
    if (shape_.is_shared(which)) {
      shared_[i] = device_.allocate(bytes);
      if (is_staged(which)) shared_staged_[i] = device_.allocate_pinned(bytes);
      continue;
    }
    for (Slot& slot : slots_) {
      slot.device[i] = device_.allocate(bytes);
      if (is_staged(which)) slot.staged[i] = device_.allocate_pinned(bytes);
    }
  }
}

void BatchRun::run_pieces() {
  copy_shared();
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    fill(p);
    queue(p);
    // Filled while this piece is copied, where its slot is free already.
    if (p + 1 < pieces_.size()) {
      const Slot& next = slot_of(p + 1);
      if (next.piece == none || (next.piece != p && device_.has_passed(next.out))) fill(p + 1);
    }
  }
  for (std::size_t p = pieces_.size() - std::min(pieces_.size(), slots_.size()); p < pieces_.size(); ++p)
    retire(slot_of(p));
  device_.wait_all();
}

void BatchRun::copy_shared() {
  for (const BatchMatrix which : batch_matrices) {
    if (!shape_.is_shared(which)) continue;
    const auto i = std::size_t(which);
    const BatchBlock block = *shape_.block(which, {0, 1});
    const BlockShape size{block.rows, block.columns, int(shape_.element_bytes())};
    const std::int64_t packed = block.rows * shape_.element_bytes();
    Block from{host(which), block.pitch_bytes};
    if (is_staged(which)) {
      const Block buffer{shared_staged_[i]->data(), packed};
      copy_block({static_cast<char*>(buffer.data), packed, static_cast<const char*>(from.data),
                  from.pitch_bytes, packed, block.columns});
      from = buffer;
    }
    device_.copy_in({shared_[i]->data(), packed}, from, size);
  }
}

void BatchRun::stage(Slot& slot, BatchMatrix which, const IndexRange& piece, bool in,
                     CopyTeam::Ticket& ticket) {
  char* const buffer = static_cast<char*>(slot.staged[std::size_t(which)]->data());
  char* const operand = static_cast<char*>(host(which));
  if (const auto block = shape_.block(which, piece)) {
    const std::int64_t column = block->rows * shape_.element_bytes();
    char* const at = operand + block->offset_bytes;
    const HostBlockCopy copy =
        in ? HostBlockCopy{buffer, column, at, block->pitch_bytes, column, block->columns}
           : HostBlockCopy{at, block->pitch_bytes, buffer, column, column, block->columns};
    return team_.submit(copy, ticket);
  }
  const std::int64_t each = CopyTeam::items_of_piece(shape_.gathered_item_bytes(which, piece));
  team_.submit(
      shape_.gathered_items(which, piece), each,
      [this, which, piece, in, buffer, operand](std::int64_t first, std::int64_t count) {
        if (in)
          shape_.gather(which, operand, piece, {first, count}, buffer);
        else
          shape_.scatter(which, operand, piece, {first, count}, buffer);
      },
      ticket);
}

void BatchRun::fill(std::size_t index) {
  Slot& slot = slot_of(index);
  if (slot.filling == index) return;
  retire(slot);
  slot.filling = index;
  for (const BatchMatrix which : batch_matrices)
    if (is_staged(which) && comes_with_pieces(which)) stage(slot, which, pieces_[index], true, slot.filled);
}

void BatchRun::retire(Slot& slot) {
  if (slot.piece == none) return;
  device_.wait(slot.out);
  if (is_staged(BatchMatrix::c)) {
    stage(slot, BatchMatrix::c, pieces_[slot.piece], false, slot.emptied);
    team_.finish(slot.emptied);
  }
  arrived_[slot.piece] = true;
  slot.piece = none;
}

Block BatchRun::device_block(const Slot& slot, BatchMatrix which, const BatchBlock& block) const {
  return {slot.device[std::size_t(which)]->data(), block.rows * shape_.element_bytes()};
}

void BatchRun::copy_in(Slot& slot, BatchMatrix which, const IndexRange& piece) {
  const auto block = shape_.block(which, piece);
  const std::int64_t es = shape_.element_bytes();
  if (!is_staged(which)) {
    const Block from{static_cast<char*>(host(which)) + block->offset_bytes, block->pitch_bytes};
    return device_.copy_in(device_block(slot, which, *block), from, {block->rows, block->columns, int(es)});
  }
  const std::int64_t bytes = shape_.device_bytes(which, piece.count);
  device_.copy_in({slot.device[std::size_t(which)]->data(), bytes},
                  {slot.staged[std::size_t(which)]->data(), bytes}, {bytes / es, 1, int(es)});
}

void BatchRun::copy_out(Slot& slot, const IndexRange& piece) {
  const auto c = BatchMatrix::c;
  const auto block = shape_.block(c, piece);
  const std::int64_t es = shape_.element_bytes();
  if (!is_staged(c)) {
    const Block to{static_cast<char*>(host(c)) + block->offset_bytes, block->pitch_bytes};
    return device_.copy_out(to, device_block(slot, c, *block), {block->rows, block->columns, int(es)});
  }
  const std::int64_t bytes = shape_.device_bytes(c, piece.count);
  device_.copy_out({slot.staged[std::size_t(c)]->data(), bytes}, {slot.device[std::size_t(c)]->data(), bytes},
                   {bytes / es, 1, int(es)});
}

void BatchRun::multiply(Slot& slot, const IndexRange& piece) {
  Operands o = job_.operands;
  const auto data = [&](BatchMatrix which) {
    const auto i = std::size_t(which);
    return (shape_.is_shared(which) ? shared_[i] : slot.device[i])->data();
  };
  o.a = data(BatchMatrix::a), o.b = data(BatchMatrix::b), o.c = data(BatchMatrix::c);
  device_.multiply(shape_.product(piece), o);
}

void BatchRun::queue(std::size_t index) {
  Slot& slot = slot_of(index);
  const IndexRange& piece = pieces_[index];
  team_.finish(slot.filled);
  for (const BatchMatrix which : batch_matrices)
    if (comes_with_pieces(which)) copy_in(slot, which, piece);
  device_.hold_back(Lane::compute, device_.mark(Lane::in));
  multiply(slot, piece);
  device_.hold_back(Lane::out, device_.mark(Lane::compute));
  slot.piece = index;
  slot.out = 0;
  copy_out(slot, piece);
  slot.out = device_.mark(Lane::out);
}

void BatchRun::each_missing(const std::function<void(const StoredBlock&)>& use) const {
  std::optional<StoredBlock> joined;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (arrived_[i]) continue;
    const StoredBlock block{0, pieces_[i].first, 1, pieces_[i].count};
    if (joined && joined->column + joined->columns == block.column) {
      joined->columns += block.columns;
      continue;
    }
    if (joined) use(*joined);
    joined = block;
  }
  if (joined) use(*joined);
}

}  // namespace tilewright
