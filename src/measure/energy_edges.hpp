// Energy of a steady load from a counter that moves a few times a second: what counts lies between two of its
// moves (edges), whose moments are known to the time between two looks, so that a second of load gives joules
// to a few tenths of a percent. It launches nothing and knows no device; who holds the load asks it.
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

// A move of the counter: seen at `at_s`, at most `late_s` after it happened.
struct EnergyEdge {
  double at_s = 0;
  double joules = 0;
  double late_s = 0;
};

// What a counter said at each look, of which only the moves are kept.
class EnergyEdges {
 public:
  // True when the counter moved since the last look. Looks are in the order of time.
  bool look(double at_s, std::optional<double> joules);

  const std::vector<EnergyEdge>& moves() const noexcept { return moves_; }
  std::size_t looks() const noexcept { return looks_; }
  std::size_t failures() const noexcept { return failures_; }  // looks that gave nothing

 private:
  std::vector<EnergyEdge> moves_;
  std::optional<double> last_j_;
  double last_s_ = 0;
  std::size_t looks_ = 0, failures_ = 0;
};

struct EnergyWindow {
  double begin_s = 0, end_s = 0;  // of the first and the last edge
  double joules = 0;              // between them
  std::size_t edges = 0;
  double error_share = 0;  // of `joules`: how late both edges may have been seen, over the time between them
  double unsteady = 0;     // the largest distance of an edge from the straight line, as a share of `joules`
  std::string fault;       // why there is no energy; "" = there is

  double seconds() const { return end_s - begin_s; }
  double watts() const { return joules / seconds(); }
};

// The edges from `from_s` on. A fault names how often the counter moved where that is less than
// `least_edges`, which would leave the window to chance, and that it failed where it did not answer.
EnergyWindow energy_between_edges(const EnergyEdges& edges, double from_s, std::size_t least_edges);

// Looks at a counter about a thousand times a second on a thread of its own, so that neither does the load
// wait for the meter nor the meter for the load. `on_edge` is called there after each move.
class EnergyPoll {
 public:
  using Counter = std::function<std::optional<double>()>;
  explicit EnergyPoll(Counter counter, std::function<void()> on_edge = {});
  ~EnergyPoll();
  EnergyPoll(const EnergyPoll&) = delete;
  EnergyPoll& operator=(const EnergyPoll&) = delete;

  EnergyEdges seen() const;
  // Edges from `from_s` (of wall_seconds) on.
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
