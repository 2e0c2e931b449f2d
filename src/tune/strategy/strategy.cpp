// Points, the list of strategies, and the strategies without a model.
#include "tune/strategy/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>

#include "tilewright/types.hpp"

namespace tilewright {
namespace {

int index_of(const PointSet::Axis& axis, const nlohmann::json& value) {
  return int(std::find(axis.values.begin(), axis.values.end(), value) - axis.values.begin());
}

PointSet::Axis axis_of(const std::string& name, const std::vector<nlohmann::json>& configs) {
  PointSet::Axis axis;
  axis.name = name;
  for (const auto& config : configs)
    if (const auto& value = config.at(name);
        std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end())
      axis.values.push_back(value);
  axis.ordered =
      std::all_of(axis.values.begin(), axis.values.end(), [](const auto& v) { return v.is_number(); });
  if (axis.ordered) std::sort(axis.values.begin(), axis.values.end());
  return axis;
}

// Local search: steps to the first better neighbour (one axis changed) until none is better, then restarts
// from the best point with some axes shaken or from a random one. Every other restart begins near the best
// point: tuning spaces have wide basins with a ragged floor.
constexpr int shaken_axes = 2;

class Climber {
 public:
  Climber(const Search& search, Evaluator& evaluator)
      : search_(search), evaluator_(evaluator), random_(search.seed) {}

  void run() {
    descend(search_.start);
    for (int restart = 0; evaluator_.more(); ++restart) descend(restart % 2 == 0 ? shaken() : anywhere());
  }

 private:
  void descend(std::size_t point) {
    double cost = evaluator_.cost(point);
    for (bool better = true; better;) {
      better = false;
      remember(point, cost);
      auto neighbours = search_.points.neighbours(point);
      std::shuffle(neighbours.begin(), neighbours.end(), random_);
      for (const std::size_t next : neighbours) {
        if (!evaluator_.more()) return;
        const double next_cost = evaluator_.cost(next);
        if (next_cost >= cost) continue;
        point = next, cost = next_cost, better = true;
        break;
      }
    }
  }

  void remember(std::size_t point, double cost) {
    if (cost < best_cost_) best_ = point, best_cost_ = cost;
  }

  std::size_t anywhere() { return std::size_t(random_() % search_.points.size()); }

  std::size_t shaken() {
    std::size_t point = best_;
    for (int i = 0; i < shaken_axes; ++i)
      if (const auto near = search_.points.neighbours(point); !near.empty())
        point = near[random_() % near.size()];
    return evaluator_.known(point) ? anywhere() : point;
  }

  const Search& search_;
  Evaluator& evaluator_;
  std::mt19937_64 random_;
  std::size_t best_ = 0;
  double best_cost_ = std::numeric_limits<double>::infinity();
};

}  // namespace

PointSet::PointSet(const std::vector<nlohmann::json>& configs) : count_(configs.size()) {
  if (configs.empty()) return;
  for (const auto& item : configs.front().items()) {
    Axis axis = axis_of(item.key(), configs);
    if (axis.values.size() > 1) axes_.push_back(std::move(axis));
  }
  indices_.reserve(count_ * axes_.size());
  for (const auto& config : configs)
    for (const Axis& axis : axes_) indices_.push_back(index_of(axis, config.at(axis.name)));
  for (std::size_t point = 0; point < count_; ++point)
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) lines_[key_without(point, axis)].push_back(point);
}

std::string PointSet::key_without(std::size_t point, std::size_t axis) const {
  std::string key(1, char(axis));
  const auto indices = at(point);
  for (std::size_t i = 0; i < indices.size(); ++i)
    key.append(reinterpret_cast<const char*>(&indices[i]), i == axis ? 0 : sizeof indices[i]);
  return key;
}

std::vector<std::size_t> PointSet::neighbours(std::size_t point) const {
  std::vector<std::pair<int, std::size_t>> found;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    for (const std::size_t other : lines_.at(key_without(point, axis))) {
      const int distance = std::abs(at(other)[axis] - at(point)[axis]);
      if (other != point) found.emplace_back(axes_[axis].ordered ? distance : 1, other);
    }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::size_t> points;
  for (const auto& [distance, other] : found) points.push_back(other);
  return points;
}

Evaluator::Evaluator(std::size_t points) : known_(points, false), costs_(points, 0) {}

double Evaluator::cost(std::size_t point) {
  if (!known_[point]) {
    costs_[point] = measure(point);
    known_[point] = true;
  }
  return costs_[point];
}

// All points are announced beforehand so that they can be prepared side by side. In the random search's order
// a budget that ends early leaves out no region of the space.
void search_exhaustive(const Search& search, Evaluator& evaluator) {
  std::vector<std::size_t> all(search.points.size());
  std::iota(all.begin(), all.end(), 0);
  evaluator.announce(all);
  search_random(search, evaluator);
}

// The start, then points drawn without repetition.
void search_random(const Search& search, Evaluator& evaluator) {
  std::vector<std::size_t> order(search.points.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(search.seed);
  std::shuffle(order.begin(), order.end(), random);
  if (order.empty()) return;
  evaluator.cost(search.start);
  for (const std::size_t point : order) {
    if (!evaluator.more()) return;
    evaluator.cost(point);
  }
}

void search_local(const Search& search, Evaluator& evaluator) {
  if (search.points.size() > 0) Climber(search, evaluator).run();
}

std::span<const Strategy> strategies() {
  static constexpr std::array all{
      Strategy{"exhaustive", "every point", search_exhaustive},
      Strategy{"random", "random points", search_random},
      Strategy{"local", "steps to better neighbours from many starts", search_local},
      Strategy{"model", "the points that a Gaussian process of the results so far predicts as best",
               search_model}};
  return all;
}

const Strategy& strategy_named(const std::string& name) {
  std::string known;
  for (const Strategy& strategy : strategies()) {
    if (name == strategy.name) return strategy;
    known += (known.empty() ? "" : ", ") + std::string(strategy.name);
  }
  throw Error(ErrorCode::invalid_argument, "strategy",
              fmt::format("strategy = '{}' is not one of {}", name, known));
}

}  // namespace tilewright
