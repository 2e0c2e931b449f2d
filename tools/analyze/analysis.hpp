// Computes the figures of Anzt 2015 for a sweep: correlations of metrics (Figs. 6 to 8), classes of a metric
// (Fig. 9), spreads of energy at one speed and of time at one energy (3.3), quadrants and the winners of a
// weighted sum of time and energy (3.4), spread of repeated measurements and error of the screening, energy
// of unseen configs from a part of the sweep (section 4). The caller removes points without energy.
#pragma once

#include <cstddef>
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

}  // namespace tilewright
