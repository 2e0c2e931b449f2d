// Steps from event to event: operations run at their speed beside the others until the first ends.
#include "gemm/hybrid/split/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {

Timeline::Timeline(int gpu_count, int lanes_per_gpu, std::vector<double> duplex, const TogetherTime& together)
    : lanes_per_gpu_(lanes_per_gpu),
      duplex_(std::move(duplex)),
      together_(together),
      lanes_(std::size_t(gpu_count) * std::size_t(lanes_per_gpu)),
      directions_(std::size_t(gpu_count)) {}

int Timeline::add(const TimedOperation& operation) {
  const int id = int(state_.size());
  State state;
  state.operation = operation;
  state_.push_back(state);
  LaneState& lane = lanes_[std::size_t(operation.lane)];
  if (lane.head < 0)
    lane.head = id;
  else
    state_[std::size_t(lane.tail)].next_of_lane = id;
  lane.tail = id;
  return id;
}

void Timeline::hold_back(int operation, int before) {
  auto& after = state_[std::size_t(operation)].operation.after;
  *std::find(after.begin(), after.end() - 1, -1) = before;
}

void Timeline::begin_what_can() {
  for (LaneState& lane : lanes_) {
    if (lane.head < 0) continue;
    State& state = state_[std::size_t(lane.head)];
    if (state.running) continue;
    bool ready = state.operation.not_before <= now_;
    for (const int before : state.operation.after) ready = ready && has_ended(before);
    if (!ready) continue;
    const bool was_busy = lane.free_since >= now_;
    state.running = true;
    state.left = state.operation.seconds + state.operation.start_s * (was_busy ? queued_start : 1);
  }
}

void Timeline::update_traffic() {
  std::fill(directions_.begin(), directions_.end(), std::array<bool, 2>{});
  host_copies_ = 0;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const int head = lanes_[i].head;
    if (head < 0 || !state_[std::size_t(head)].running) continue;
    const Traffic traffic = state_[std::size_t(head)].operation.traffic;
    const std::size_t gpu = i / std::size_t(lanes_per_gpu_);
    if (traffic == Traffic::to_device) directions_[gpu][0] = true;
    if (traffic == Traffic::to_host) directions_[gpu][1] = true;
    if (traffic == Traffic::host_copy) ++host_copies_;
  }
  std::array<double, 2> carried{};
  double duplex = 1;
  for (std::size_t gpu = 0; gpu < directions_.size(); ++gpu) {
    const auto& used = directions_[gpu];
    for (const int way : {0, 1})
      carried[std::size_t(way)] += used[std::size_t(way)] ? 1 / own_factor(gpu) : 0;
    duplex = std::max(duplex, duplex_[gpu]);
  }
  slower_ = together_.slower(carried[0], carried[1], duplex);
}

double Timeline::own_factor(std::size_t gpu) const {
  return directions_[gpu][0] && directions_[gpu][1] ? duplex_[gpu] : 1;
}

double Timeline::speed_of(const State& state) const {
  const std::size_t gpu = std::size_t(state.operation.lane / lanes_per_gpu_);
  switch (state.operation.traffic) {
    case Traffic::none:
      return 1;
    case Traffic::host_copy:
      return 1.0 / std::max(1, host_copies_);
    default:
      return 1 / (own_factor(gpu) * slower_);
  }
}

void Timeline::run(int operation) {
  while (operation < 0 || !has_ended(operation)) {
    begin_what_can();
    update_traffic();
    double step = std::numeric_limits<double>::infinity();
    for (const LaneState& lane : lanes_) {
      if (lane.head < 0) continue;
      const State& state = state_[std::size_t(lane.head)];
      if (state.running)
        step = std::min(step, state.left / speed_of(state));
      else if (state.operation.not_before > now_)
        step = std::min(step, state.operation.not_before - now_);
    }
    if (step == std::numeric_limits<double>::infinity()) return;  // nothing can begin
    const double before = now_;
    now_ += step;
    if (step > 0 && now_ == before) now_ = std::nextafter(now_, now_ + 1);
    for (LaneState& lane : lanes_) {
      if (lane.head < 0) continue;
      State& state = state_[std::size_t(lane.head)];
      if (!state.running) continue;
      const double needed = state.left / speed_of(state);
      state.left -= step * speed_of(state);
      if (needed > step * (1 + 1e-12)) continue;
      state.ended = true, state.running = false, state.end = now_;
      ended_.push_back(lane.head);
      lane.free_since = now_;
      lane.head = state.next_of_lane;
      if (lane.head < 0) lane.tail = -1;
    }
  }
}

}  // namespace tilewright
