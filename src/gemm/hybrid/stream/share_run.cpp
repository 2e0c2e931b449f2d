// Steps become calls of a StreamDevice. Nothing waits on the host but rings, and at the end the copies out,
// one after the other, so that as many as possible are known to be complete should the device fail.
#include "gemm/hybrid/stream/share_run.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/dispatch.hpp"
#include "gemm/operand.hpp"

namespace tilewright {
namespace {

const void* element_address(const void* base, std::int64_t row, std::int64_t column, std::int64_t ld,
                            std::int64_t element_bytes) {
  return static_cast<const char*>(base) + (column * ld + row) * element_bytes;
}

}  // namespace

GemmProblem part_of_c(const GemmProblem& problem, const StoredBlock& block) {
  GemmProblem part = problem;
  part.m = block.rows, part.n = block.columns;
  return part;
}

Operands operands_of_c(const GemmProblem& p, const Operands& operands, const StoredBlock& block) {
  const std::int64_t es = size_bytes(p.dtype);
  Operands part = operands;
  const bool a_as_stored = p.op_a == Op::none, b_as_stored = p.op_b == Op::none;
  part.a = element_address(operands.a, a_as_stored ? block.row : 0, a_as_stored ? 0 : block.row, p.lda, es);
  part.b =
      element_address(operands.b, b_as_stored ? 0 : block.column, b_as_stored ? block.column : 0, p.ldb, es);
  part.c = const_cast<void*>(element_address(operands.c, block.row, block.column, p.ldc, es));
  return part;
}

ShareRun::ShareRun(StreamRun& run, int index, StreamDevice& device)
    : run_(run), index_(index), device_(device), share_(run.job.split.gpus[std::size_t(index)]) {
  if (!device.adds()) share_.adds_c = false;
  schedule_ = make_schedule(run.shape, share_, index, run.peers);
  const GemmProblem& p = run.job.problem;
  const Operands& o = run.job.operands;
  const auto pinned = [&](const void* data, std::int64_t rows, std::int64_t columns, std::int64_t ld) {
    return device.is_pinned(data, ((columns - 1) * ld + rows) * size_bytes(p.dtype));
  };
  const bool a = pinned(o.a, p.a_rows(), p.a_cols(), p.lda), b = pinned(o.b, p.b_rows(), p.b_cols(), p.ldb);
  const bool by_columns = run.shape.by_columns();
  pinned_ = {by_columns ? a : b, by_columns ? b : a, pinned(o.c, p.m, p.n, p.ldc)};
  // A tile that was on its way into C when its device failed is neither old nor new. Where the host is to
  // compute it again from the old one, it has to come by way of a ring.
  if (run.job.redo_on_host && run.shape.reads_c()) pinned_.c = false;
  list_out_blocks();
}

void ShareRun::list_out_blocks() {
  first_out_block_.resize(schedule_.steps.size());
  for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
    const StreamStep& step = schedule_.steps[i];
    first_out_block_[i] = out_blocks_.size();
    if (step.kind == StepKind::c_out)
      out_blocks_.push_back({run_.shape.c(step.piece.across, step.piece.along), false});
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
      // It is lost, and does nothing any more.
    }
    output_.reset();  // has what arrived put where it belongs
    input_.reset();
  }
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void ShareRun::release() noexcept {
  for (auto* memories : {&resident_, &streamed_, &c_}) memories->clear();
}

void ShareRun::prepare() {
  const std::int64_t es = run_.shape.element_bytes();
  const auto allocate = [&](const std::vector<StepBuffer>& buffers, auto& memories) {
    for (const StepBuffer& buffer : buffers) memories.push_back(device_.allocate(buffer.bytes(es)));
  };
  allocate(schedule_.resident, resident_);
  allocate(schedule_.streamed, streamed_);
  allocate(schedule_.c, c_);
  marks_.assign(schedule_.steps.size(), 0);
  std::vector<StagedBlock> staged;
  for (const StreamStep& step : schedule_.steps) {
    if (step.kind == StepKind::resident_in && step.owner == index_ && !pinned_.resident)
      staged.push_back(resident_block(step));
    if (step.kind == StepKind::streamed_in && !pinned_.streamed) staged.push_back(streamed_block(step));
    if (step.kind == StepKind::c_in && !pinned_.c) staged.push_back(c_block(step));
  }
  if (!staged.empty())
    input_ = std::make_unique<StagedInput>(device_, run_.team, run_.ring_bytes, std::move(staged));
  if (pinned_.c) return;
  std::int64_t c_bytes = 0;
  for (const OutBlock& block : out_blocks_) c_bytes += block.c.rows * block.c.columns * es;
  output_ = std::make_unique<StagedOutput>(device_, run_.team, run_.ring_bytes, c_bytes, [this](int piece) {
    out_blocks_[std::size_t(piece)].arrived = true;
  });
  // Through a ring C arrives in smaller blocks.
  std::vector<OutBlock> pieces;
  for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
    const StreamStep& step = schedule_.steps[i];
    first_out_block_[i] = pieces.size();
    if (step.kind != StepKind::c_out) continue;
    const StoredBlock whole = run_.shape.c(step.piece.across, step.piece.along);
    const StagedBlock block = c_block(step);
    for (const StagedBlock& piece : pieces_of(block, output_->slot_bytes())) {
      const std::int64_t offset = static_cast<char*>(piece.host.data) - static_cast<char*>(block.host.data);
      pieces.push_back(
          {{whole.row + offset % block.host.pitch_bytes / es, whole.column + offset / block.host.pitch_bytes,
            piece.shape.rows, piece.shape.columns},
           false});
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
  if (output_ && schedule_.steps[std::size_t(step)].kind == StepKind::c_out &&
      marks_[std::size_t(step)] == 0) {
    // Its last piece may not even be queued: no later one can be in the lane before it.
    output_->queue_all();
    marks_[std::size_t(step)] = device_.mark(Lane::out);
  }
  return marks_[std::size_t(step)];
}

void ShareRun::hold_back(const StreamStep& step) {
  for (int lane = 0; lane < lane_count; ++lane) {
    const int before = step.after[std::size_t(lane)];
    if (before >= 0 && Lane(lane) != step.lane) device_.hold_back(step.lane, mark_of(before));
  }
}

void ShareRun::step(std::size_t index) {
  const StreamStep& step = schedule_.steps[index];
  if (step.kind != StepKind::c_out && step.kind != StepKind::resident_in) hold_back(step);
  switch (step.kind) {
    case StepKind::resident_in:
      return copy_resident(index);
    case StepKind::streamed_in:
      copy_in(step, streamed_block(step), pinned_.streamed);
      break;
    case StepKind::c_in:
      copy_in(step, c_block(step), pinned_.c);
      break;
    case StepKind::multiply:
      multiply(step);
      break;
    case StepKind::add_c:
      add_c(step);
      break;
    case StepKind::c_out:
      return copy_out(index);
  }
  if (step.waited_for) marks_[index] = device_.mark(step.lane);
}

void ShareRun::copy_in(const StreamStep&, const StagedBlock& block, bool pinned) {
  if (pinned)
    device_.copy_in(block.device, block.host, block.shape);
  else
    input_->copy_next();
}

void ShareRun::copy_resident(std::size_t index) {
  const StreamStep& step = schedule_.steps[index];
  const StagedBlock block = resident_block(step);
  hold_back(step);
  if (step.unit < 0 || step.owner == index_) {
    copy_in(step, block, pinned_.resident);
    marks_[index] = device_.mark(Lane::in);
    if (!run_.peers.empty()) run_.exchange.offer(step.unit, {&device_, block.device, marks_[index]});
    return;
  }
  if (const auto slice = run_.exchange.take(step.unit, step.owner)) {
    device_.copy_from_peer(step.lane, block.device, *slice->device, slice->block, block.shape, slice->mark);
    marks_[index] = device_.mark(step.lane);
    return;
  }
  // The GPU that was to have it is lost: from the host, as it lies.
  device_.copy_in(block.device, block.host, block.shape);
  marks_[index] = device_.mark(Lane::in);
}

void ShareRun::copy_out(std::size_t index) {
  const StreamStep& step = schedule_.steps[index];
  const StagedBlock block = c_block(step);
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

StagedBlock ShareRun::placed(const void* host, std::int64_t host_ld, const DeviceMemory& memory,
                             const StepBuffer& buffer, const StoredBlock& block,
                             const StoredBlock& origin) const {
  const std::int64_t es = run_.shape.element_bytes();
  StagedBlock placed;
  placed.host = {const_cast<void*>(element_address(host, block.row, block.column, host_ld, es)),
                 host_ld * es};
  placed.device = {const_cast<void*>(element_address(memory.data(), block.row - origin.row,
                                                     block.column - origin.column, buffer.ld, es)),
                   buffer.ld * es};
  placed.shape = {block.rows, block.columns, int(es)};
  return placed;
}

StagedBlock ShareRun::resident_block(const StreamStep& step) const {
  const std::size_t slot = schedule_.resident_stays() ? 0 : std::size_t(step.ab_slot);
  const Operands& o = run_.job.operands;
  return placed(run_.shape.by_columns() ? o.a : o.b, run_.shape.resident_ld(), *resident_[slot],
                schedule_.resident[slot], run_.shape.resident(step.piece.across, step.piece.k),
                run_.shape.resident(step.buffered.across, step.buffered.k));
}

StagedBlock ShareRun::streamed_block(const StreamStep& step) const {
  const std::size_t slot = std::size_t(step.ab_slot);
  const Operands& o = run_.job.operands;
  return placed(run_.shape.by_columns() ? o.b : o.a, run_.shape.streamed_ld(), *streamed_[slot],
                schedule_.streamed[slot], run_.shape.streamed(step.piece.along, step.piece.k),
                run_.shape.streamed(step.buffered.along, step.buffered.k));
}

StagedBlock ShareRun::c_block(const StreamStep& step) const {
  const std::size_t slot = std::size_t(step.c_slot);
  return placed(run_.job.operands.c, run_.job.problem.ldc, *c_[slot], schedule_.c[slot],
                run_.shape.c(step.piece.across, step.piece.along),
                run_.shape.c(step.buffered.across, step.buffered.along));
}

void ShareRun::multiply(const StreamStep& step) {
  const std::int64_t es = run_.shape.element_bytes();
  const StagedBlock resident = resident_block(step), streamed = streamed_block(step), c = c_block(step);
  const bool by_columns = run_.shape.by_columns();
  const Block &a = (by_columns ? resident : streamed).device, &b = (by_columns ? streamed : resident).device;
  GemmProblem part = run_.shape.part(step.piece);
  part.location = Location::device;
  part.lda = a.pitch_bytes / es, part.ldb = b.pitch_bytes / es, part.ldc = c.device.pitch_bytes / es;
  if (step.adds) part.beta = Scalar::one;
  if (step.leaves_c) part.beta = Scalar::zero;
  Operands operands = run_.job.operands;
  operands.a = a.data, operands.b = b.data, operands.c = c.device.data;
  device_.multiply(part, operands);
}

void ShareRun::add_c(const StreamStep& step) {
  StreamStep late = step;
  late.c_slot = step.from_slot;
  const StagedBlock to = c_block(step);
  device_.add(run_.job.problem.dtype, to.device, c_block(late).device, to.shape, run_.beta);
}

namespace {

// Takes `next` in where both make one block.
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
