// Model-based search: a few random points, then always the point from which a Gaussian process expects the
// largest improvement on the best so far (Jones et al. 1998). The process is refitted as observations double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "tune/strategy/strategy.hpp"
#include "tune/strategy/surrogate.hpp"

namespace tilewright {
namespace {

constexpr int first_points = 12;
// Past this many observations the process costs more than measuring does; local steps take over.
constexpr int most_observations = 600;
// By then the fit has settled, and its cost grows with the cube.
constexpr std::size_t most_refitted = 200;

// E[max(0, best - X)] for X normal with this mean and deviation.
double expected_improvement(double best, double mean, double deviation) {
  const double z = (best - mean) / deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return deviation * (z * below + density);
}

class ModelSearch {
 public:
  ModelSearch(const Search& search, Evaluator& evaluator)
      : search_(search), evaluator_(evaluator), surrogate_(search.points), random_(search.seed) {}

  void run() {
    observe(search_.start);
    for (int i = 1; i < first_points && evaluator_.more(); ++i) observe(random_() % search_.points.size());
    surrogate_.refit();
    std::size_t next_refit = 2 * first_points;
    while (evaluator_.more() && observations_ < most_observations) {
      observe(most_promising());
      if (observations_ < next_refit || observations_ > most_refitted) continue;
      surrogate_.refit();
      next_refit = observations_ * 3 / 2;
    }
    if (evaluator_.more()) search_local({search_.points, best_, search_.seed}, evaluator_);
  }

 private:
  // A point that failed its check counts as bad as the worst: the model has to keep away from its like.
  void observe(std::size_t point) {
    if (evaluator_.known(point)) return;
    const double cost = evaluator_.cost(point);
    const bool failed = !std::isfinite(cost);
    const double value = failed ? worst_ : std::log(cost);
    if (!failed) worst_ = observations_ == 0 ? value : std::max(worst_, value);
    if (!failed && value < best_value_) best_ = point, best_value_ = value;
    surrogate_.add(point, value);
    ++observations_;
  }

  std::size_t most_promising() const {
    std::size_t chosen = search_.start;
    double most = -1;
    for (std::size_t point = 0; point < search_.points.size(); ++point) {
      if (evaluator_.known(point)) continue;
      const double gain =
          expected_improvement(best_value_, surrogate_.mean(point), surrogate_.deviation(point));
      if (gain > most) chosen = point, most = gain;
    }
    return chosen;
  }

  const Search& search_;
  Evaluator& evaluator_;
  Surrogate surrogate_;
  std::mt19937_64 random_;
  std::size_t observations_ = 0;
  std::size_t best_ = 0;
  double best_value_ = std::numeric_limits<double>::infinity();
  double worst_ = 0;
};

}  // namespace

void search_model(const Search& search, Evaluator& evaluator) {
  if (search.points.size() > 0) ModelSearch(search, evaluator).run();
}

}  // namespace tilewright
