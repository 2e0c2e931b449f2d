// Computes the figures of Anzt 2015 for a sweep: correlations of metrics (Figs. 6 to 8), classes of a metric
// (Fig. 9), spreads of energy at one speed and of time at one energy (3.3), quadrants and the winners of a
// weighted sum of time and energy (3.4), spread of repeated measurements and error of the screening, energy
// of unseen configs from a part of the sweep (section 4). The caller removes points without energy.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/data.hpp"

namespace tilewright {

// Returns Pearson's coefficient, or 0 if one of them does not vary.
double pearson(const std::vector<double>& x, const std::vector<double>& y);
// Returns the coefficient of the ranks; equal values share the mean of theirs.
double spearman(const std::vector<double>& x, const std::vector<double>& y);

struct Correlation {
  std::string metric;
  double performance = 0, efficiency = 0, product = 0;  // Pearson, as in the paper
  double performance_rank = 0, efficiency_rank = 0;     // Spearman
  std::size_t points = 0;                               // points that have the metric
};
// Computes correlations for every metric that varies and that most points have, and every numeric field of
// the config that varies ("config.tile_m"); bookkeeping of the measurement is left out.
std::vector<Correlation> correlate(const std::vector<SweepPoint>& points);

// Points above and below a metric's mean.
struct MetricClass {
  std::string metric;
  double mean = 0;
  std::vector<std::size_t> above, below;
  // The medians of each class.
  double above_gflops = 0, below_gflops = 0, above_efficiency = 0, below_efficiency = 0;
};
std::optional<MetricClass> classify(const std::vector<SweepPoint>& points, const std::string& metric);
// Returns the first of `names` that at least half of the points have; "" for none.
std::string first_known(const std::vector<SweepPoint>& points, const std::vector<std::string>& names);

// The largest variation of one quantity among points whose other is equal within `tolerance`: a ratio, and
// its position. `count` points lie there.
struct Spread {
  double ratio = 1;
  double at = 0;
  std::size_t count = 0;
  std::size_t least = 0, most = 0;  // positions
};
Spread energy_spread_at_equal_speed(const std::vector<SweepPoint>& points, double tolerance);
Spread time_spread_at_equal_energy(const std::vector<SweepPoint>& points, double tolerance);

struct Quadrants {
  std::size_t fastest = 0, frugal = 0;  // positions of the winners
  std::size_t faster = 0;               // points faster than the most frugal
  std::size_t more_frugal = 0;          // points more frugal than the fastest
  std::size_t both = 0;                 // points that are both
};
Quadrants quadrants(const std::vector<SweepPoint>& points);

// The winner by alpha t + (1 - alpha) e, where t and e are divided by the least of each: from `from` up to
// the next one's.
struct AlphaPick {
  double from = 0;
  std::size_t point = 0;
};
std::vector<AlphaPick> alpha_walk(const std::vector<SweepPoint>& points, std::size_t steps = 1000);

// Spread of one config measured several times.
struct RepeatSpread {
  double time_share = 0, energy_share = 0;           // (largest - smallest) / mean
  double time_deviation = 0, energy_deviation = 0;   // mean deviation over the mean
  std::optional<double> screen_time, screen_energy;  // the screening over the long median, minus 1
};
RepeatSpread spread_of(const SweepRepeat& repeat);

// The convex hull of points in the plane (Anzt 2015, Fig. 5): its corners in order, and those that trade
// performance for efficiency. This is pure geometry.
struct PlanePoint {
  double x = 0, y = 0;
};

// Returns the positions of the corners, counterclockwise from the point with the largest y (the leftmost of
// several). Points on an edge are not corners. One or two distinct points are their own hull.
std::vector<std::size_t> convex_hull(const std::vector<PlanePoint>& points);

// Returns the part of `hull` from the largest y to the largest x: no other point is better in both.
std::vector<std::size_t> trade_off_arc(const std::vector<PlanePoint>& points,
                                       const std::vector<std::size_t>& hull);

// Computes the intersection of a vertical line at x with the hull (from, to along y); returns false if the
// line misses it.
bool cut_at_x(const std::vector<PlanePoint>& points, const std::vector<std::size_t>& hull, double x,
              double& low, double& high);

// Measures how well a model trained on a part of a sweep predicts time and energy of the rest (the outlook of
// Anzt 2015, section 4): the tuner's own surrogate, trained on random parts and evaluated on unseen configs.
struct Prediction {
  std::size_t trained = 0, asked = 0;  // numbers of configs
  double median_error = 0,
         high_error = 0;  // errors of the unseen configs' energy: shares, the median and the 90th percentile
  double mean_error = 0;  // the median error of always predicting the training's geometric mean
  double rank = 0;        // Spearman's coefficient of predicted and measured
  double regret = 0;      // cost of the config predicted as best over the best unseen one, minus 1
};

struct PredictionFlags {
  std::vector<double> shares = {0.05, 0.1, 0.2, 0.4};  // shares of the points used for training
  int rounds = 5;                                      // random parts for each share; medians are reported
  // The most configs in the training, which costs the cube of this.
  std::size_t most = 300;
  unsigned seed = 1;
  // Called during the training, which is slow.
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};
// Returns a prediction for each share. `costs` are positive, one for each config; all configs have the same
// fields.
std::vector<Prediction> predict_unseen(const std::vector<nlohmann::json>& configs,
                                       const std::vector<double>& costs, const PredictionFlags& flags = {});

}  // namespace tilewright
