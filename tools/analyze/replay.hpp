// A recorded sweep served as if it were a machine: strategies, objectives and budgets are tested and compared
// on it without hardware, and in no time. It reads the log of a search, and measures nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/objective.hpp"
#include "tune/strategy/strategy.hpp"

namespace tilewright {

// JSON lines: objects with `config` and `seconds`, and `joules` where a meter answered. Several lines of one
// config count as samples of it, of which the median is served. A line with `base` gives the fields that
// configs leave out, and `default_config` the point that searches start from; lines with neither (the command
// that made the file) are passed over.
class Replay {
 public:
  // Throws Error(io) naming file and line.
  static Replay read(const std::string& path);
  Replay(std::vector<nlohmann::json> configs, std::vector<Metrics> metrics, std::size_t start);

  const PointSet& points() const noexcept { return points_; }
  const std::vector<nlohmann::json>& configs() const noexcept { return configs_; }
  const std::vector<Metrics>& metrics() const noexcept { return metrics_; }
  std::size_t start() const noexcept { return start_; }

 private:
  std::vector<nlohmann::json> configs_;
  std::vector<Metrics> metrics_;
  PointSet points_;
  std::size_t start_ = 0;
};

// Serves at most `limit` evaluations and remembers the best seconds-or-other cost after each.
class ReplayEvaluator : public Evaluator {
 public:
  ReplayEvaluator(const Replay& replay, const TuneObjective& objective, std::size_t limit);

  bool more() const override { return best_after_.size() < limit_; }
  // best_after()[i]: the point that is best after i + 1 evaluations.
  const std::vector<std::size_t>& best_after() const noexcept { return best_after_; }

 private:
  double measure(std::size_t point) override;

  const Replay& replay_;
  TuneObjective objective_;
  std::size_t limit_;
  Metrics anchor_;  // what costs are normalised by: the start, or the fastest so far
  std::vector<std::size_t> best_after_;
};

}  // namespace tilewright
