// The complete analysis of one problem's sweep, computed once for both the report and JSON. It contains no
// text and no drawings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/analysis.hpp"
#include "analyze/data.hpp"

namespace tilewright {

// Sums up the speed of a sweep, with or without a meter of energy: the best config against the default, the
// spread of all, and what each axis is worth.

// The best config with each value of one axis: how much slower is the best one with the worst value.
struct AxisEffect {
  std::string axis, best_value, worst_value;
  std::size_t values = 0;
  double loss = 0;  // relative to the best of all; 0: some best config exists with every value
};

struct SpeedSummary {
  std::size_t best = 0;                 // the place of the fastest point
  std::optional<std::size_t> standard;  // of the default config, if it is known and was measured
  double regret = 0;                    // the default's excess time over the best, relative
  double median_gflops = 0, least_gflops = 0;
  std::vector<AxisEffect> axes;  // those that vary, the greatest loss first
};

// `points` must not be empty.
SpeedSummary speed_summary(const std::vector<SweepPoint>& points);

// A metric of Anzt's Fig. 9 and its source.
struct ClassOf {
  std::string title;   // "occupancy"
  std::string wanted;  // the missing counter that would provide it
  std::optional<MetricClass> found;
};

struct CaseAnalysis {
  SweepCase sweep;
  SpeedSummary speed;              // of sweep.points
  std::vector<SweepPoint> points;  // points of `sweep` with energy; all positions below refer to it
  std::vector<PlanePoint> plane;   // performance and efficiency of each
  std::vector<std::size_t> hull;   // counterclockwise from the most efficient
  std::vector<std::size_t> arc;    // part of it, from the most efficient to the fastest
  std::vector<Correlation> correlations;
  std::vector<ClassOf> classes;
  double tolerance = 0.01;  // within which speed and energy count as equal
  std::optional<Spread> energy_spread, time_spread;
  std::optional<Quadrants> quadrants;
  std::vector<AlphaPick> alphas;
  std::vector<RepeatSpread> repeats;  // for sweep.repeats
  std::vector<Prediction> energy_predictions, time_predictions;
  std::size_t profiled = 0;  // points with counters
};

// Calls `progress` during the predictions, which take the most time: seconds for a thousand configs.
CaseAnalysis analyse(SweepCase sweep, std::function<void(std::size_t done, std::size_t of)> progress = {});

// Returns one object for each part, named by `section`.
std::vector<nlohmann::json> to_json_lines(const CaseAnalysis& analysis);

// Performance and efficiency over n for configs that were measured at several sizes (Anzt's Fig. 4): for each
// config its sizes in order.
struct SizeSeries {
  nlohmann::json config;  // null for the sentinel
  std::string name;
  std::vector<double> n, gflops;
  std::vector<std::optional<double>> efficiency;
};
// Compares square problems that differ in size alone; at most `most` configs, those with the most sizes and
// the highest performance first, then the sentinel.
std::vector<SizeSeries> size_series(const std::vector<SweepCase>& cases, const SweepCase& like,
                                    std::size_t most);

}  // namespace tilewright
