// A clock for operations queued on lanes that run side by side: each lane runs its own in order, an operation
// begins when those that it waits for have ended, and lanes that share a link or a memory slow one another
// down while both are busy. Predictions and the simulated device use it.
#pragma once

#include <array>
#include <vector>

#include "wisdom/node_model.hpp"

namespace tilewright {

// The resource that an operation shares with others.
enum class Traffic : unsigned char {
  none,       // products, and copies between GPUs
  to_device,  // over the link of a GPU, in either direction
  to_host,
  host_copy,  // between pageable and pinned memory: all such lanes share the threads
};

struct TimedOperation {
  int lane = 0;
  double not_before = 0;  // a time of another clock
  Traffic traffic = Traffic::none;
  double start_s = 0;  // before it moves anything; most of it is saved while its lane was busy before
  double seconds = 0;  // by itself
  std::array<int, 4> after{-1, -1, -1, -1};  // operations that must have ended
};

class Timeline {
 public:
  // `lanes_per_gpu` lanes belong to each GPU; `duplex` and `together` as in GpuModel and NodeModel.
  Timeline(int gpu_count, int lanes_per_gpu, std::vector<double> duplex, const TogetherTime& together);

  int add(const TimedOperation& operation);
  // Has a queued operation wait for another one as well.
  void hold_back(int operation, int before);
  // Runs until the operation has ended, or with -1 all that can. Later ones begin no earlier than now.
  void run(int operation = -1);
  double now() const { return now_; }
  double end_of(int operation) const { return state_[std::size_t(operation)].end; }
  bool has_ended(int operation) const { return operation < 0 || state_[std::size_t(operation)].ended; }
  // Operations in the order in which they ended.
  const std::vector<int>& ended() const { return ended_; }

 private:
  struct State {
    TimedOperation operation;
    double left = 0, end = 0;
    int next_of_lane = -1;
    bool running = false, ended = false;
  };
  struct LaneState {
    int head = -1, tail = -1;  // the first that has not ended; the last
    double free_since = -1;    // when its last operation ended
  };

  void begin_what_can();
  double own_factor(std::size_t gpu) const;
  double speed_of(const State& state) const;
  void update_traffic();

  int lanes_per_gpu_;
  std::vector<double> duplex_;
  TogetherTime together_;
  std::vector<State> state_;
  std::vector<LaneState> lanes_;
  std::vector<int> ended_;
  double now_ = 0;
  // The state of running operations: the directions in use per GPU, the factor by which other GPUs slow
  // transfers, and the number of lanes that copy on the host.
  std::vector<std::array<bool, 2>> directions_;
  double slower_ = 1;
  int host_copies_ = 0;
};

// The part of an operation's start that remains if its lane was busy before: it has been launched meanwhile.
inline constexpr double queued_start = 0.25;

}  // namespace tilewright
