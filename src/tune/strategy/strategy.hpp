// Strategies: the order in which the points of a search are tried. A point is a config as numbers: the
// position of its value on every axis that varies. A strategy sees points and costs only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/json.hpp"

namespace tilewright {

class PointSet {
 public:
  struct Axis {
    std::string name;
    std::vector<nlohmann::json> values;  // numbers ascending, names in order of appearance
    bool ordered = false;                // true for numbers
  };

  PointSet() = default;
  // One point per config, in this order; all have the same keys. Keys with a single value are not an axis.
  explicit PointSet(const std::vector<nlohmann::json>& configs);

  std::size_t size() const noexcept { return count_; }
  const std::vector<Axis>& axes() const noexcept { return axes_; }
  std::span<const int> at(std::size_t point) const {
    return {indices_.data() + point * axes_.size(), axes_.size()};
  }

  // The points that differ from `point` on one axis, nearest values first.
  std::vector<std::size_t> neighbours(std::size_t point) const;

 private:
  std::string key_without(std::size_t point, std::size_t axis) const;

  std::size_t count_ = 0;
  std::vector<Axis> axes_;
  std::vector<int> indices_;  // points x axes
  // Points that agree on all axes but one.
  std::unordered_map<std::string, std::vector<std::size_t>> lines_;
};

// Measures the cost of each point at most once.
class Evaluator {
 public:
  explicit Evaluator(std::size_t points);
  virtual ~Evaluator() = default;

  // Lower is better; infinity for a point that failed its check. Only while more().
  double cost(std::size_t point);
  bool known(std::size_t point) const { return known_[point]; }

  // False when the budget is spent: the strategy then returns.
  virtual bool more() const = 0;
  // Points to be measured soon: they can be prepared side by side.
  virtual void announce(std::span<const std::size_t> points) { (void)points; }

 protected:
  virtual double measure(std::size_t point) = 0;

 private:
  std::vector<bool> known_;
  std::vector<double> costs_;
};

struct Search {
  const PointSet& points;
  std::size_t start = 0;  // the default config: a sensible first guess
  std::uint64_t seed = 1;
};

struct Strategy {
  const char* name;
  const char* summary;
  void (*run)(const Search& search, Evaluator& evaluator);
};

void search_exhaustive(const Search& search, Evaluator& evaluator);
void search_random(const Search& search, Evaluator& evaluator);
void search_local(const Search& search, Evaluator& evaluator);
void search_model(const Search& search, Evaluator& evaluator);

// All strategies, and the one of this name: throws Error(invalid_argument) with the known names.
std::span<const Strategy> strategies();
const Strategy& strategy_named(const std::string& name);

}  // namespace tilewright
