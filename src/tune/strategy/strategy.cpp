// The list of strategies, the memory of what was measured that they share, and the two that know no space.
#include "tune/strategy/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "tilewright/types.hpp"

namespace tilewright {

Evaluator::Evaluator(std::size_t points) : known_(points, false), costs_(points, 0) {}

double Evaluator::cost(std::size_t point) {
  if (!known_[point]) {
    costs_[point] = measure(point);
    known_[point] = true;
  }
  return costs_[point];
}

// All points are announced beforehand so that they can be prepared side by side. The order is that of the
// random search: a budget that ends too soon then leaves out no corner of the space.
void search_exhaustive(const Search& search, Evaluator& evaluator) {
  std::vector<std::size_t> all(search.points.size());
  std::iota(all.begin(), all.end(), 0);
  evaluator.announce(all);
  search_random(search, evaluator);
}

// The start, then points drawn without repetition until the evaluator has had enough.
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

std::span<const Strategy> strategies() {
  static constexpr std::array all{
      Strategy{"exhaustive", "every point", search_exhaustive},
      Strategy{"random", "points drawn at random", search_random},
      Strategy{"local", "steps to better neighbours, from many starts", search_local},
      Strategy{"model", "where a Gaussian process fitted to the points so far expects most", search_model}};
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
