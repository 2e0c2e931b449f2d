// The model strategy: a few random points, then always the point from which a Gaussian process expects the
// largest improvement on the best so far (Jones et al. 1998). The process is refitted as observations double.
// Regression by a Cholesky factor that grows by rows (Rasmussen and Williams 2006, algorithm 2.1), with a
// product kernel: exp(-reach * distance) for ordered values, else exp(-reach * [differ]).
#include "tune/strategy/surrogate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

namespace tilewright {
namespace {

constexpr double noise = 1e-3;  // variance of a measurement, in units of the observations' own
constexpr double first_reach = 1;
constexpr std::array reaches{0.03, 0.1, 0.3, 1.0, 3.0};
constexpr int sweeps = 2;  // of coordinate descent over the axes

// L^-1 b for the rows of L that exist.
std::vector<double> solve(const std::vector<std::vector<double>>& factor, std::vector<double> b) {
  for (std::size_t i = 0; i < factor.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) b[i] -= factor[i][j] * b[j];
    b[i] /= factor[i][i];
  }
  return b;
}

constexpr int first_points = 12;
// Beyond this the process costs more than measuring; local search takes over.
constexpr int most_observations = 600;
// Beyond this the fit is stable; its cost grows with the cube.
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
  // A point that failed its check counts as the worst one, so that the model avoids its neighbourhood.
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

Surrogate::Surrogate(const PointSet& points)
    : points_(points), reach_(points.axes().size(), first_reach), mean_(points.size(), 0) {
  for (std::size_t point = 0; point < points.size(); ++point)
    for (std::size_t axis = 0; axis < reach_.size(); ++axis)
      coordinates_.push_back(double(points.at(point)[axis]) /
                             double(std::max<std::size_t>(2, points.axes()[axis].values.size()) - 1));
  restart();
}

double Surrogate::likeness(std::size_t x, std::size_t y, const Reach& reach) const {
  const double* a = &coordinates_[x * reach.size()];
  const double* b = &coordinates_[y * reach.size()];
  double exponent = 0;
  for (std::size_t axis = 0; axis < reach.size(); ++axis)
    exponent +=
        reach[axis] * (points_.axes()[axis].ordered ? std::abs(a[axis] - b[axis]) : a[axis] != b[axis]);
  return std::exp(-exponent);
}

void Surrogate::restart() {
  factor_.clear();
  solved_.clear();
  variance_.assign(points_.size(), 1);
  for (std::size_t i = 0; i < observed_.size(); ++i) append(i);
  predict();
}

void Surrogate::add(std::size_t point, double log_cost) {
  observed_.push_back(point);
  values_.push_back(log_cost);
  append(observed_.size() - 1);
  predict();
}

// The new row of L is L^-1 k(observed, x), which solved_ holds already; then the new row of solved_ follows.
void Surrogate::append(std::size_t observation) {
  const std::size_t x = observed_[observation];
  std::vector<double> row;
  double rest = 1 + noise;
  for (const auto& solved : solved_) {
    row.push_back(solved[x]);
    rest -= solved[x] * solved[x];
  }
  const double pivot = std::sqrt(std::max(rest, noise));
  std::vector<double> next(points_.size());
  for (std::size_t p = 0; p < next.size(); ++p) next[p] = likeness(x, p, reach_);
  for (std::size_t j = 0; j < row.size(); ++j)
    for (std::size_t p = 0; p < next.size(); ++p) next[p] -= row[j] * solved_[j][p];
  for (std::size_t p = 0; p < next.size(); ++p) {
    next[p] /= pivot;
    variance_[p] -= next[p] * next[p];
  }
  row.push_back(pivot);
  factor_.push_back(std::move(row));
  solved_.push_back(std::move(next));
}

// mean = K^T (L L^T)^-1 y = (L^-1 K)^T (L^-1 y), with y centred and scaled.
void Surrogate::predict() {
  if (values_.empty()) return;
  double sum = 0, squares = 0;
  for (const double value : values_) sum += value;
  centre_ = sum / double(values_.size());
  for (const double value : values_) squares += (value - centre_) * (value - centre_);
  scale_ = std::sqrt(std::max(squares / double(values_.size()), 1e-12));
  std::vector<double> y;
  for (const double value : values_) y.push_back((value - centre_) / scale_);
  y = solve(factor_, std::move(y));
  std::fill(mean_.begin(), mean_.end(), 0);
  for (std::size_t j = 0; j < solved_.size(); ++j)
    for (std::size_t p = 0; p < mean_.size(); ++p) mean_[p] += y[j] * solved_[j][p];
}

double Surrogate::deviation(std::size_t point) const {
  return scale_ * std::sqrt(std::max(variance_[point], 1e-12));
}

// y^T K^-1 y / 2 + log det L, constants left out.
double Surrogate::surprise(const Reach& reach) const {
  const std::size_t count = observed_.size();
  std::vector<std::vector<double>> factor;
  double log_determinant = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> row(i + 1);
    for (std::size_t j = 0; j < i; ++j) row[j] = likeness(observed_[i], observed_[j], reach);
    double rest = 1 + noise;
    for (std::size_t j = 0; j < i; ++j) {
      for (std::size_t l = 0; l < j; ++l) row[j] -= row[l] * factor[j][l];
      row[j] /= factor[j][j];
      rest -= row[j] * row[j];
    }
    row[i] = std::sqrt(std::max(rest, noise));
    log_determinant += std::log(row[i]);
    factor.push_back(std::move(row));
  }
  std::vector<double> y;
  for (const double value : values_) y.push_back((value - centre_) / scale_);
  double fit = 0;
  for (const double value : solve(factor, std::move(y))) fit += value * value;
  return fit / 2 + log_determinant;
}

void Surrogate::refit() {
  double least = surprise(reach_);
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (std::size_t axis = 0; axis < reach_.size(); ++axis)
      for (const double reach : reaches) {
        Reach other = reach_;
        other[axis] = reach;
        if (const double surprised = surprise(other); surprised < least) {
          least = surprised;
          reach_ = std::move(other);
        }
      }
  restart();
}

void search_model(const Search& search, Evaluator& evaluator) {
  if (search.points.size() > 0) ModelSearch(search, evaluator).run();
}

}  // namespace tilewright
