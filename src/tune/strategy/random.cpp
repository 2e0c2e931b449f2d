// Random search: the start, then points drawn without repetition until the evaluator has had enough.
#include <algorithm>
#include <numeric>
#include <random>

#include "tune/strategy/strategy.hpp"

namespace tilewright {

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

}  // namespace tilewright
