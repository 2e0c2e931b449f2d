// The list of strategies, and the memory of what was measured that they share.
#include "tune/strategy/strategy.hpp"

#include <fmt/format.h>

#include <array>

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
