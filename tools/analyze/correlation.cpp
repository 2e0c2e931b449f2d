// Computes correlation coefficients, and selects their metrics.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "analyze/analysis.hpp"

namespace tilewright {
namespace {

// True for metrics that describe the measurement and not the kernel.
bool is_bookkeeping(const std::string& name) {
  static const std::set<std::string> exact{"mean_seconds",       "launches",        "energy_edges",
                                           "energy_error_share", "heat_s",          "power_w",
                                           "clock_reasons",      "other_processes", "energy_unsteady"};
  if (name.starts_with("sentinel_") || exact.count(name) != 0) return true;
  return name.ends_with("_low") || name.ends_with("_high");
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i) rank[order[i]] = double(first + last - 1) / 2;
  }
  return rank;
}

std::map<std::string, double> all_metrics(const SweepPoint& point) {
  auto metrics = point.metrics;
  for (const auto& item : point.config.items()) {
    if (item.value().is_number()) metrics["config." + item.key()] = item.value().get<double>();
    if (item.value().is_boolean()) metrics["config." + item.key()] = item.value().get<bool>() ? 1 : 0;
  }
  if (point.watts) metrics["watts"] = *point.watts;
  return metrics;
}

struct Columns {
  std::vector<double> metric, performance, efficiency, product;
};

}  // namespace

double pearson(const std::vector<double>& x, const std::vector<double>& y) {
  const double count = double(x.size());
  if (x.size() < 2) return 0;
  const double mx = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double my = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
    xy += (x[i] - mx) * (y[i] - my);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

double spearman(const std::vector<double>& x, const std::vector<double>& y) {
  return pearson(ranks(x), ranks(y));
}

std::vector<Correlation> correlate(const std::vector<SweepPoint>& points) {
  std::map<std::string, Columns> columns;
  for (const SweepPoint& point : points)
    for (const auto& [name, value] : all_metrics(point)) {
      if (is_bookkeeping(name)) continue;
      Columns& c = columns[name];
      const double efficiency = point.efficiency.value_or(0);
      c.metric.push_back(value);
      c.performance.push_back(point.gflops);
      c.efficiency.push_back(efficiency);
      c.product.push_back(point.gflops * efficiency);
    }
  std::vector<Correlation> list;
  for (const auto& [name, c] : columns) {
    const auto [low, high] = std::minmax_element(c.metric.begin(), c.metric.end());
    // Counters of a profiler's sample are few, yet a hundred are enough even as a small share.
    const bool enough = c.metric.size() * 2 >= points.size() || c.metric.size() >= 50;
    if (*low == *high || !enough) continue;
    list.push_back({name, pearson(c.metric, c.performance), pearson(c.metric, c.efficiency),
                    pearson(c.metric, c.product), spearman(c.metric, c.performance),
                    spearman(c.metric, c.efficiency), c.metric.size()});
  }
  return list;
}

}  // namespace tilewright
