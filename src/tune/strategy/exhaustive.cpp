// Exhaustive search: every point, all of them announced beforehand so that they can be prepared side by side.
// The order is that of the random search: a budget that ends too soon then leaves out no corner of the space.
#include <numeric>

#include "tune/strategy/strategy.hpp"

namespace tilewright {

void search_exhaustive(const Search& search, Evaluator& evaluator) {
  std::vector<std::size_t> all(search.points.size());
  std::iota(all.begin(), all.end(), 0);
  evaluator.announce(all);
  search_random(search, evaluator);
}

}  // namespace tilewright
