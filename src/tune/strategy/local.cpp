// Local search: from the start, step to the first better neighbour (one axis changed) until none is better,
// then begin again from the best point with some axes shaken, or from a random one. It knows no gradients and
// keeps no model.
#include <algorithm>
#include <limits>
#include <random>

#include "tune/strategy/strategy.hpp"

namespace tilewright {
namespace {

// Every other restart begins near the best point: tuning spaces have wide basins with a ragged floor.
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

void search_local(const Search& search, Evaluator& evaluator) {
  if (search.points.size() > 0) Climber(search, evaluator).run();
}

}  // namespace tilewright
