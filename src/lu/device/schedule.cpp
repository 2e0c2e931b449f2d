// Look-ahead, and columns that arrive late.
#include "lu/device/schedule.hpp"

#include <algorithm>
#include <utility>

#include "device/gpu/gpu.hpp"

namespace tilewright {

LuSchedule::LuSchedule(std::vector<LuEngine*> engines)
    : begun_(engines.front()->gpu()), nb_(engines.front()->shape().nb), columns_(engines.front()->shape().n) {
  parts_.reserve(engines.size());
  for (LuEngine* engine : engines) parts_.emplace_back(*engine);
}

template <class F>
void LuSchedule::for_each_run(std::int64_t first, std::int64_t end, F&& f) const {
  if (parts_.size() == 1) {
    if (first < end) f(0, first, end - first);
    return;
  }
  for (std::int64_t begin = first; begin < end;) {
    const std::int64_t next = std::min(end, (begin / nb_ + 1) * nb_);
    f(owner_of(begin), begin, next - begin);
    begin = next;
  }
}

void LuSchedule::begin(const std::vector<DeviceLuOperands>& operands, CUstream_st* stream) {
  // Graphs are replayed on streams of their own, which use the whole device.
  may_make_room_ = !is_capturing(parts_.front().engine->gpu(), stream);
  begun_.record(stream);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    LuEngine& engine = *parts_[i].engine;
    const Gpu::Current current(engine.gpu());
    begun_.hold_back(engine.stream(LuLane::panel));
    engine.begin(operands[i]);
    begun_.hold_back(engine.stream(LuLane::update));
  }
}

void LuSchedule::end(CUstream_st* stream) {
  for (Part& part : parts_)
    for (const LuLane lane : {LuLane::panel, LuLane::update}) {
      part.factored.record(part.engine->stream(lane));
      part.factored.hold_back(stream);
    }
}

void LuSchedule::factor(const LuStep& step) {
  Part& part = parts_[std::size_t(owner_of(step.first))];
  const Gpu::Current current(part.engine->gpu());
  part.engine->factor_block(step);
  part.factored.record(part.engine->stream(LuLane::panel));
}

// Copies the block to the GPUs that update with it.
void LuSchedule::share(const LuStep& step) {
  Part& owner = parts_[std::size_t(owner_of(step.first))];
  for (Part& part : parts_) {
    const Gpu::Current current(part.engine->gpu());
    owner.factored.hold_back(part.engine->stream(LuLane::update));
    if (&part == &owner) continue;
    part.engine->receive(step, *owner.engine);
    part.received.record(part.engine->stream(LuLane::update));
  }
}

bool LuSchedule::panels_take_longer(const LuStep& step) const {
  const LuEngine& engine = *parts_.front().engine;
  const LuShape& shape = engine.shape();
  const LuPace& pace = engine.pace();
  constexpr double less_room = 1.15, with_moves = 1.15;
  const double rows = double(shape.m - step.end()),
               columns = double(shape.n - step.end()) / double(parts_.size());
  return pace.product.of(rows, columns, double(step.columns)) * with_moves * less_room <
         pace.block_s(shape.m - step.end(), shape.nb, engine.width_of(step));
}

void LuSchedule::catch_up(const LuStep& step, std::int64_t first, std::int64_t columns, LuLane lane,
                          LuTraffic* traffic) {
  const int owner = owner_of(first);
  Part& part = parts_[std::size_t(owner)];
  LuEngine& engine = *part.engine;
  const Gpu::Current current(engine.gpu());
  CUstream_st* const stream = engine.stream(lane);
  traffic->hold_back(owner, first, columns, stream);
  // L is in the order of all moves so far, and so must its right-hand sides be.
  if (lane == LuLane::panel) part.moved.hold_back(stream);
  for (int i = 0; i < step.index; ++i) engine.move(engine.step_at(i), first, columns, lane);
  for (int i = 0; i < step.index; ++i) engine.eliminate(engine.step_at(i), first, columns, lane);
  if (step.index > 0) traffic->caught_up(owner, step.first, {first, columns}, stream);
}

void LuSchedule::look_ahead(const LuStep& step, LuTraffic* traffic) {
  const LuEngine& any = *parts_.front().engine;
  if (step.index + 1 == any.steps()) return;
  const LuStep next = any.step_at(step.index + 1);
  Part& part = parts_[std::size_t(owner_of(next.first))];
  const Gpu::Current current(part.engine->gpu());
  CUstream_st* const panels = part.engine->stream(LuLane::panel);
  // It was last touched by the update before this one.
  if (step.index > 0) part.updated.hold_back(panels);
  if (&part != &parts_[std::size_t(owner_of(step.first))]) part.received.hold_back(panels);
  if (next.end() > reached_) {
    catch_up(step, next.first, next.columns, LuLane::panel, traffic);
    part.caught_up.record(panels);
    part.has_caught_up = true;
    reached_ = next.end();
  }
  part.engine->update(step, next.first, next.columns, LuLane::panel);
  factor(next);
}

void LuSchedule::update_rest(const LuStep& step, LuTraffic* traffic) {
  const LuEngine& any = *parts_.front().engine;
  const std::int64_t ahead = step.index + 1 < any.steps() ? any.step_at(step.index + 1).columns : 0;
  const bool all = traffic == nullptr || step.index + 1 == any.steps();
  const std::int64_t arrived = all ? columns_ : std::max(reached_, traffic->arrived(step));
  for_each_run(reached_, arrived, [&](int, std::int64_t first, std::int64_t columns) {
    catch_up(step, first, columns, LuLane::update, traffic);
  });
  reached_ = arrived;
  for_each_run(step.end() + ahead, reached_, [&](int owner, std::int64_t first, std::int64_t columns) {
    LuEngine& engine = *parts_[std::size_t(owner)].engine;
    const Gpu::Current current(engine.gpu());
    engine.update(step, first, columns, LuLane::update);
  });
  for (Part& part : parts_) part.updated.record(part.engine->stream(LuLane::update));
  move_left(step);
}

// Also in blocks of other GPUs: late columns are eliminated with them.
void LuSchedule::move_left(const LuStep& step) {
  for (Part& part : parts_) {
    const Gpu::Current current(part.engine->gpu());
    CUstream_st* const stream = part.engine->stream(LuLane::update);
    // L must not move while it is read: by columns that catch up here, by GPUs that copy it.
    if (std::exchange(part.has_caught_up, false)) part.caught_up.hold_back(stream);
    for (const Part& other : parts_)
      if (&other != &part) other.received.hold_back(stream);
    part.engine->move(step, 0, step.first, LuLane::update);
    part.moved.record(stream);
  }
}

// The rows of the block, after the next block was factored: its stream has made U of its columns by then.
void LuSchedule::finish_rows(const LuStep& step, LuTraffic* traffic) {
  const LuEngine& any = *parts_.front().engine;
  const bool last = step.index + 1 == any.steps();
  if (!last) {
    Part& next = parts_[std::size_t(owner_of(step.end()))];
    next.factored.hold_back(next.engine->stream(LuLane::update));
  }
  const std::int64_t rows = (last ? any.shape().m : step.end()) - step.first;
  std::vector<std::vector<LuColumns>> columns(parts_.size());
  for_each_run(0, reached_, [&](int owner, std::int64_t first, std::int64_t count) {
    columns[std::size_t(owner)].push_back({first, count});
  });
  for (std::size_t owner = 0; owner < parts_.size(); ++owner) {
    LuEngine& engine = *parts_[owner].engine;
    const Gpu::Current current(engine.gpu());
    traffic->finished(int(owner), step.first, rows, columns[owner], engine.stream(LuLane::update));
  }
}

void LuSchedule::queue(const std::vector<DeviceLuOperands>& operands, CUstream_st* stream,
                       LuTraffic* traffic) {
  const LuEngine& any = *parts_.front().engine;
  begin(operands, stream);
  reached_ = traffic == nullptr ? columns_ : 0;
  for (int i = 0; i < any.steps(); ++i) {
    const LuStep step = any.step_at(i);
    if (i == 0) {
      if (traffic != nullptr) {
        LuEngine& first = *parts_.front().engine;
        const Gpu::Current current(first.gpu());
        traffic->hold_back(0, 0, step.columns, first.stream(LuLane::panel));
        reached_ = step.columns;
      }
      factor(step);
    }
    share(step);
    if (may_make_room_ && panels_take_longer(step))
      for (Part& part : parts_) part.engine->tools().make_room_for_panels();
    look_ahead(step, traffic);
    update_rest(step, traffic);
    if (traffic != nullptr) finish_rows(step, traffic);
  }
  end(stream);
}

}  // namespace tilewright
