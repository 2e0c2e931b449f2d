// All that the analysis of one problem's sweep finds, computed once, for the report and for JSON alike. It
// words nothing and draws nothing.
#pragma once

#include "analyze/analysis.hpp"
#include "analyze/hull.hpp"
#include "analyze/prediction.hpp"

namespace tilewright {

// A metric of Anzt's Fig. 9 and where it was found.
struct ClassOf {
  std::string title;   // "occupancy"
  std::string wanted;  // the counter that would tell it where nothing does
  std::optional<MetricClass> found;
};

struct CaseAnalysis {
  SweepCase sweep;
  std::vector<SweepPoint> points;  // of sweep.points those with energy; all below are positions in it
  std::vector<PlanePoint> plane;   // performance and efficiency of each
  std::vector<std::size_t> hull;   // counterclockwise from the most efficient
  std::vector<std::size_t> arc;    // of it, from the most efficient to the fastest
  std::vector<Correlation> correlations;
  std::vector<ClassOf> classes;
  double tolerance = 0.01;  // of "equal" speed and energy
  std::optional<Spread> energy_spread, time_spread;
  std::optional<Quadrants> quadrants;
  std::vector<AlphaPick> alphas;
  std::vector<RepeatSpread> repeats;  // of sweep.repeats
  std::vector<Prediction> energy_predictions, time_predictions;
  std::size_t profiled = 0;  // points with counters
};

// `progress` hears of the predictions, which take the most time: seconds for a thousand configs.
CaseAnalysis analyse(SweepCase sweep, std::function<void(std::size_t done, std::size_t of)> progress = {});

// One object for each part, `section` naming it.
std::vector<nlohmann::json> to_json_lines(const CaseAnalysis& analysis);

// Performance and efficiency over n of configs that were measured at several sizes (Anzt's Fig. 4): for each
// config its sizes in order.
struct SizeSeries {
  nlohmann::json config;  // null for the sentinel
  std::string name;
  std::vector<double> n, gflops;
  std::vector<std::optional<double>> efficiency;
};
// Of problems that differ in size alone, square ones; at most `most` configs, those with the most sizes and
// the highest performance first, then the sentinel.
std::vector<SizeSeries> size_series(const std::vector<SweepCase>& cases, const SweepCase& like,
                                    std::size_t most);

}  // namespace tilewright
