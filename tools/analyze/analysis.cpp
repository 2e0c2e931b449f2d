// Computes statistics over the points of a sweep.
#include "analyze/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "measure/estimate.hpp"

namespace tilewright {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

// Returns the widest ratio of `value` within a band of `key`, whose values are visited in order.
Spread widest(const std::vector<double>& key, const std::vector<double>& value, double tolerance) {
  std::vector<std::size_t> order(key.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return key[i] < key[j]; });
  Spread best;
  for (std::size_t first = 0; first < order.size(); ++first) {
    std::size_t least = order[first], most = order[first], last = first;
    for (; last < order.size() && key[order[last]] <= key[order[first]] * (1 + 2 * tolerance); ++last) {
      if (value[order[last]] < value[least]) least = order[last];
      if (value[order[last]] > value[most]) most = order[last];
    }
    const double ratio = value[most] / value[least];
    if (ratio > best.ratio) best = {ratio, key[order[first]] * (1 + tolerance), last - first, least, most};
  }
  return best;
}

void range_of(const std::vector<double>& values, double& share, double& deviation) {
  if (values.size() < 2) return;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double mean = mean_of(values);
  share = (*high - *low) / mean;
  for (const double value : values) deviation += std::abs(value - mean) / mean / double(values.size());
}

}  // namespace

Spread energy_spread_at_equal_speed(const std::vector<SweepPoint>& points, double tolerance) {
  std::vector<double> key, value;
  for (const SweepPoint& p : points) {
    key.push_back(p.gflops);
    value.push_back(*p.cost.joules);
  }
  return widest(key, value, tolerance);
}

Spread time_spread_at_equal_energy(const std::vector<SweepPoint>& points, double tolerance) {
  std::vector<double> key, value;
  for (const SweepPoint& p : points) {
    key.push_back(*p.efficiency);
    value.push_back(p.cost.seconds);
  }
  return widest(key, value, tolerance);
}

Quadrants quadrants(const std::vector<SweepPoint>& points) {
  Quadrants q;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].gflops > points[q.fastest].gflops) q.fastest = i;
    if (*points[i].efficiency > *points[q.frugal].efficiency) q.frugal = i;
  }
  for (const SweepPoint& p : points) {
    const bool faster = p.gflops > points[q.frugal].gflops;
    const bool more_frugal = *p.efficiency > *points[q.fastest].efficiency;
    q.faster += faster;
    q.more_frugal += more_frugal;
    q.both += faster && more_frugal;
  }
  return q;
}

std::vector<AlphaPick> alpha_walk(const std::vector<SweepPoint>& points, std::size_t steps) {
  std::vector<Metrics> all;
  for (const SweepPoint& p : points) all.push_back(p.cost);
  if (all.empty()) return {};
  Metrics least = all.front();  // the least of each, possibly of different points
  for (const Metrics& one : all) {
    least.seconds = std::min(least.seconds, one.seconds);
    least.joules = std::min(*least.joules, *one.joules);
  }
  std::vector<AlphaPick> picks;
  for (std::size_t step = 0; step <= steps; ++step) {
    const double alpha = double(step) / double(steps);
    const std::size_t best = TuneObjective::parse(fmt::format("alpha={}", alpha)).best(all, least);
    if (picks.empty() || picks.back().point != best) picks.push_back({alpha, best});
  }
  return picks;
}

RepeatSpread spread_of(const SweepRepeat& repeat) {
  RepeatSpread spread;
  range_of(repeat.seconds, spread.time_share, spread.time_deviation);
  range_of(repeat.joules, spread.energy_share, spread.energy_deviation);
  if (!repeat.screened) return spread;
  spread.screen_time = repeat.screened->seconds / median(repeat.seconds) - 1;
  if (repeat.screened->joules && !repeat.joules.empty())
    spread.screen_energy = *repeat.screened->joules / median(repeat.joules) - 1;
  return spread;
}

std::string first_known(const std::vector<SweepPoint>& points, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto known = std::count_if(points.begin(), points.end(),
                                     [&](const SweepPoint& p) { return p.metrics.count(name) != 0; });
    if (known > 0 && std::size_t(known) * 2 >= points.size()) return name;
  }
  return "";
}

std::optional<MetricClass> classify(const std::vector<SweepPoint>& points, const std::string& metric) {
  MetricClass result;
  result.metric = metric;
  std::vector<double> values;
  for (const SweepPoint& p : points)
    if (const auto at = p.metrics.find(metric); at != p.metrics.end()) values.push_back(at->second);
  if (values.size() < 2) return std::nullopt;
  result.mean = mean_of(values);
  std::vector<double> speed[2], efficiency[2];
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto at = points[i].metrics.find(metric);
    if (at == points[i].metrics.end()) continue;
    const bool above = at->second > result.mean;
    (above ? result.above : result.below).push_back(i);
    speed[above].push_back(points[i].gflops);
    efficiency[above].push_back(points[i].efficiency.value_or(0));
  }
  if (result.above.empty() || result.below.empty()) return std::nullopt;  // the metric does not vary
  result.above_gflops = median(speed[1]);
  result.below_gflops = median(speed[0]);
  result.above_efficiency = median(efficiency[1]);
  result.below_efficiency = median(efficiency[0]);
  return result;
}

}  // namespace tilewright
