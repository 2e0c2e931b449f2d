// Steps become calls of a StreamDevice. The host only waits for rings and, at the end, for the copies out,
// one after the other, so that as many as possible are known to be complete if the device fails.
#include "gemm/hybrid/stream/share_run.hpp"

#include <algorithm>
#include <chrono>

namespace tilewright {

ShareRun::ShareRun(StreamRun& run, int index, StreamDevice& device)
    : run_(run), index_(index), device_(device), schedule_(run.job.schedules[std::size_t(index)]) {
  choose_staged();
  list_out_blocks();
}

// Stages pageable matrices, and problems of which not every piece is a block.
void ShareRun::choose_staged() {
  for (const ProductMatrix which : product_matrices) {
    bool& staged = staged_[std::size_t(which)];
    staged = !run_.job.pinned[std::size_t(which)];
    const void* const operand = address_of(run_.job.operands, which);
    for (const StreamStep& step : schedule_.steps)
      if (run_.shape.is_batch() && step.kind == StepKind::copy_out)
        staged = staged || !run_.shape.block(which, operand, step.piece);
  }
  // A tile that was being copied into C when its device failed is neither old nor new. If the host may have
  // to compute it again from the old one, it passes a ring.
  if (run_.job.redo_on_host && run_.shape.reads_c()) staged_[std::size_t(ProductMatrix::c)] = true;
}

void ShareRun::list_out_blocks() {
  first_out_block_.resize(schedule_.steps.size());
  for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
    const StreamStep& step = schedule_.steps[i];
    first_out_block_[i] = out_blocks_.size();
    if (step.kind == StepKind::copy_out)
      out_blocks_.push_back({run_.shape.stored(ProductMatrix::c, step.piece), false});
  }
}

void ShareRun::compute() noexcept {
  const auto begin = std::chrono::steady_clock::now();
  try {
    prepare();
    run_steps();
  } catch (...) {
    failure_ = std::current_exception();
    run_.exchange.fail(index_);
    try {
      device_.wait_all();  // what is queued may still use buffers
    } catch (...) {
      // The device is lost and does nothing any more.
    }
    output_.reset();  // finishes the pieces that arrived
    input_.reset();
  }
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void ShareRun::release() noexcept {
  for (auto& memories : memory_) memories.clear();
}

void ShareRun::prepare() {
  for (std::size_t i = 0; i < memory_.size(); ++i)
    for (const StepBuffer& buffer : schedule_.buffers[i])
      memory_[i].push_back(device_.allocate(buffer.bytes(run_.shape.element_bytes())));
  marks_.assign(schedule_.steps.size(), 0);
  prepare_rings();
}

// Pieces of a batch are staged whole, in as many buffers as there are in device memory.
RingSize ShareRun::ring_for(const std::vector<StagedBlock>& blocks, const ForMatrices& with_pieces) const {
  RingSize ring;
  for (std::size_t i = 0; i < with_pieces.size() && run_.shape.is_batch(); ++i) {
    if (!with_pieces[i]) continue;
    const auto& buffers = schedule_.buffers[i];
    const std::int64_t bytes = buffers.front().bytes(run_.shape.element_bytes());
    ring.slot_bytes = std::max(ring.slot_bytes, (bytes + 63) / 64 * 64);
    ring.slots += buffers.size();
  }
  if (ring.slots > 0) return ring;
  std::int64_t sum = 0;
  for (const StagedBlock& block : blocks) sum += block.shape.bytes();
  return ring_size(run_.ring_bytes, sum);
}

void ShareRun::prepare_rings() {
  std::vector<StagedBlock> in, out;
  for (const StreamStep& step : schedule_.steps) {
    const bool moves = step.kind == StepKind::copy_in || step.kind == StepKind::copy_out;
    if (!moves || step.is_from_peer(index_) || !is_staged(step.matrix)) continue;
    (step.kind == StepKind::copy_in ? in : out).push_back(block_of(step, step.matrix));
  }
  ForMatrices coming{};
  for (const ProductMatrix which : product_matrices)
    coming[std::size_t(which)] = is_staged(which) && run_.shape.comes_with_pieces(which);
  if (!in.empty()) input_ = std::make_unique<StagedInput>(device_, run_.team, ring_for(in, coming), in);
  if (!is_staged(ProductMatrix::c)) return;
  output_ =
      std::make_unique<StagedOutput>(device_, run_.team, ring_for(out, {false, false, true}),
                                     [this](int piece) { out_blocks_[std::size_t(piece)].arrived = true; });
  // Through a ring C arrives in smaller blocks.
  const std::int64_t es = run_.shape.element_bytes();
  std::vector<OutBlock> pieces;
  for (std::size_t i = 0, out_index = 0; i < schedule_.steps.size(); ++i) {
    first_out_block_[i] = pieces.size();
    if (schedule_.steps[i].kind != StepKind::copy_out) continue;
    const StoredBlock whole = out_blocks_[out_index].c;
    const StagedBlock& block = out[out_index++];
    const std::vector<StagedBlock> parts = pieces_of(block, output_->slot_bytes());
    for (const StagedBlock& part : parts) {
      const std::int64_t offset = static_cast<char*>(part.host.data) - static_cast<char*>(block.host.data);
      const StoredBlock c{whole.row + offset % block.host.pitch_bytes / es,
                          whole.column + offset / block.host.pitch_bytes, part.shape.rows,
                          part.shape.columns};
      pieces.push_back({parts.size() == 1 ? whole : c, false});
    }
  }
  out_blocks_ = std::move(pieces);
}

void ShareRun::run_steps() {
  if (input_) input_->fill_ahead();
  for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
    step(i);
    note_arrivals();
    if (output_) output_->serve();
  }
  if (output_) output_->finish();
  for (; left_ < leaving_.size(); ++left_) {
    if (run_.job.split.host_count > 0)
      device_.wait_asleep(leaving_[left_].first);
    else
      device_.wait(leaving_[left_].first);
    out_blocks_[leaving_[left_].second].arrived = true;
  }
  device_.wait_all();
  output_.reset();
  input_.reset();
}

void ShareRun::note_arrivals() {
  while (left_ < leaving_.size() && device_.has_passed(leaving_[left_].first))
    out_blocks_[leaving_[left_++].second].arrived = true;
}

StreamDevice::Mark ShareRun::mark_of(int step) {
  const auto i = std::size_t(step);
  if (output_ && schedule_.steps[i].kind == StepKind::copy_out)  // it has pieces of its own
    return output_->mark_after(
        int(i + 1 < first_out_block_.size() ? first_out_block_[i + 1] : out_blocks_.size()) - 1);
  return marks_[i];
}

void ShareRun::hold_back(const StreamStep& step) {
  for (int lane = 0; lane < lane_count; ++lane) {
    const int before = step.after[std::size_t(lane)];
    if (before >= 0 && Lane(lane) != step.lane) device_.hold_back(step.lane, mark_of(before));
  }
}

void ShareRun::step(std::size_t index) {
  const StreamStep& step = schedule_.steps[index];
  switch (step.kind) {
    case StepKind::copy_in:
      return copy_in(index);
    case StepKind::copy_out:
      return copy_out(index);
    case StepKind::multiply:
      hold_back(step);
      multiply(step);
      break;
    case StepKind::add_c:
      hold_back(step);
      add_c(step);
      break;
  }
  if (step.waited_for) marks_[index] = device_.mark(step.lane);
}

void ShareRun::copy_in(std::size_t index) {
  const StreamStep& step = schedule_.steps[index];
  const StagedBlock block = block_of(step, step.matrix);
  hold_back(step);
  if (!step.is_from_peer(index_)) {
    if (is_staged(step.matrix))
      input_->copy_next();
    else
      device_.copy_in(block.device, block.host, block.shape);
    if (step.waited_for || step.unit >= 0) marks_[index] = device_.mark(Lane::in);
    if (step.unit >= 0) run_.exchange.offer(step.unit, {&device_, block.device, marks_[index]});
  } else if (const auto slice = run_.exchange.take(step.unit, step.owner)) {
    device_.copy_from_peer(step.lane, block.device, *slice->device, slice->block, block.shape, slice->mark);
    marks_[index] = device_.mark(step.lane);
  } else {  // the GPU that was to have it is lost: from the host, as it lies
    device_.copy_in(block.device, block.host, block.shape);
    marks_[index] = device_.mark(Lane::in);
  }
}

void ShareRun::copy_out(std::size_t index) {
  const StreamStep& step = schedule_.steps[index];
  const StagedBlock block = block_of(step, ProductMatrix::c);
  if (output_) {
    int piece = int(first_out_block_[index]);
    const StreamDevice::Mark after = mark_of(step.after[std::size_t(Lane::compute)]);
    for (const StagedBlock& part : pieces_of(block, output_->slot_bytes()))
      output_->add(piece++, part, after);
    return;
  }
  hold_back(step);
  device_.copy_out(block.host, block.device, block.shape);
  marks_[index] = device_.mark(Lane::out);
  leaving_.emplace_back(marks_[index], first_out_block_[index]);
}

char* ShareRun::in_buffer(const StreamStep& step, ProductMatrix which) const {
  const auto slot = std::size_t(schedule_.slot(step, which));
  return static_cast<char*>(memory_[std::size_t(which)][slot]->data()) +
         buffer_offset_bytes(run_.shape, schedule_, step, which);
}

StagedBlock ShareRun::block_of(const StreamStep& step, ProductMatrix which) const {
  const StreamShape& shape = run_.shape;
  const std::int64_t es = shape.element_bytes();
  void* const operand = address_of(run_.job.operands, which);
  char* const at = in_buffer(step, which);
  if (const std::optional<HostPart> part = shape.block(which, operand, step.piece)) {
    const std::int64_t ld = shape.is_batch() ? part->shape.rows : schedule_.buffer(step, which).ld;
    return {part->at, {at, ld * es}, part->shape};
  }
  const std::int64_t bytes = shape.device_bytes(which, step.piece.along.count);
  return {{operand, bytes}, {at, bytes}, {bytes / es, 1, int(es)}, {&shape, which, step.piece.along}};
}

void ShareRun::multiply(const StreamStep& step) {
  Operands operands = run_.job.operands;
  operands.a = in_buffer(step, ProductMatrix::a), operands.b = in_buffer(step, ProductMatrix::b);
  operands.c = in_buffer(step, ProductMatrix::c);
  device_.multiply(device_product(run_.shape, schedule_, step), operands);
}

void ShareRun::add_c(const StreamStep& step) {
  StreamStep late = step;
  late.slots[std::size_t(ProductMatrix::c)] = step.from_slot;
  const StagedBlock to = block_of(step, ProductMatrix::c);
  device_.add(run_.job.problem.dtype, to.device, block_of(late, ProductMatrix::c).device, to.shape,
              run_.beta);
}

namespace {

// Extends `block` by `next` if both form one block.
bool joins(StoredBlock& block, const StoredBlock& next) {
  if (block.row == next.row && block.rows == next.rows && block.column + block.columns == next.column)
    block.columns += next.columns;
  else if (block.column == next.column && block.columns == next.columns && block.row + block.rows == next.row)
    block.rows += next.rows;
  else
    return false;
  return true;
}

}  // namespace

void ShareRun::each_missing(const std::function<void(const StoredBlock&)>& use) const {
  std::optional<StoredBlock> joined;
  for (const OutBlock& block : out_blocks_) {
    if (block.arrived || (joined && joins(*joined, block.c))) continue;
    if (joined) use(*joined);
    joined = block.c;
  }
  if (joined) use(*joined);
}

}  // namespace tilewright
