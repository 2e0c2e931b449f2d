// Energy of a steady load from a counter that updates a few times a second. The energy is taken between two
// updates (edges), whose times are known to within a polling interval: a second of load gives it to some
// tenths of a percent.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tilewright {

// An update of the counter: seen at `at_s`, at most `late_s` after it happened.
struct EnergyEdge {
  double at_s = 0;
  double joules = 0;
  double late_s = 0;
};

// Collects the readings of a counter and keeps only those at which it changed.
class EnergyEdges {
 public:
  // Returns true if the counter changed since the last reading. Readings are in the order of time.
  bool add(double at_s, std::optional<double> joules);

  const std::vector<EnergyEdge>& moves() const noexcept { return moves_; }
  bool was_read() const noexcept { return last_j_.has_value(); }  // false if all readings failed

 private:
  std::vector<EnergyEdge> moves_;
  std::optional<double> last_j_;
  double last_s_ = 0;
};

struct EnergyWindow {
  double begin_s = 0, end_s = 0;  // times of the first and the last edge
  double joules = 0;              // energy between them
  std::size_t edges = 0;
  double error_share = 0;  // of `joules`: lateness of both edges over the time between them
  double unsteady = 0;     // largest deviation of an edge from a straight line, as a share of `joules`
  std::string fault;       // why there is no energy; "" if there is

  double seconds() const { return end_s - begin_s; }
  double watts() const { return joules / seconds(); }
};

// Returns the window of the edges from `from_s` on; its fault says if there are fewer than `least_edges`.
EnergyWindow energy_between_edges(const EnergyEdges& edges, double from_s, std::size_t least_edges);

// Polls a counter about a thousand times a second on a thread of its own, so that neither the load nor the
// meter waits for the other. `on_edge` is called on that thread after each update.
class EnergyPoll {
 public:
  using Counter = std::function<std::optional<double>()>;
  explicit EnergyPoll(Counter counter, std::function<void()> on_edge = {});
  ~EnergyPoll();
  EnergyPoll& operator=(EnergyPoll&&) = delete;

  EnergyEdges seen() const;
  // Returns the number of edges from `from_s` (of wall_seconds) on.
  std::size_t edges_since(double from_s) const;

 private:
  void run();

  Counter counter_;
  std::function<void()> on_edge_;
  mutable std::mutex mutex_;
  EnergyEdges edges_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace tilewright
