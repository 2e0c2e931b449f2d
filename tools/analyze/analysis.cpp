// Computes statistics over the points of a sweep.
#include "analyze/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "core/estimate.hpp"
#include "tune/strategy/surrogate.hpp"

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

// Andrew's monotone chain, rotated to begin where Anzt's Table II begins.

// Returns twice the area of the triangle; positive if o, a, b turn left.
double turn(const PlanePoint& o, const PlanePoint& a, const PlanePoint& b) {
  return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

// Returns the points in the order of (x, y) whose turns are all to the left.
std::vector<std::size_t> chain(const std::vector<PlanePoint>& points, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> part;
  for (const std::size_t next : order) {
    while (part.size() > 1 && turn(points[part[part.size() - 2]], points[part.back()], points[next]) <= 0)
      part.pop_back();
    part.push_back(next);
  }
  return part;
}

// Draws random parts, trains the surrogate, and computes the errors of its predictions of the rest.

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * double(values.size())))];
}

Prediction one_round(const PointSet& points, const std::vector<double>& costs,
                     const std::vector<std::size_t>& order, std::size_t trained) {
  Surrogate surrogate(points);
  double sum = 0;
  for (std::size_t i = 0; i < trained; ++i) {
    surrogate.add(order[i], std::log(costs[order[i]]));
    sum += std::log(costs[order[i]]);
  }
  surrogate.refit();
  const double mean = std::exp(sum / double(trained));
  std::vector<double> errors, mean_errors, predicted, measured;
  std::size_t best = order[trained];
  double least = costs[best];
  for (std::size_t i = trained; i < order.size(); ++i) {
    const std::size_t at = order[i];
    const double guess = std::exp(surrogate.mean(at));
    predicted.push_back(guess);
    measured.push_back(costs[at]);
    errors.push_back(std::abs(guess / costs[at] - 1));
    mean_errors.push_back(std::abs(mean / costs[at] - 1));
    if (surrogate.mean(at) < surrogate.mean(best)) best = at;
    least = std::min(least, costs[at]);
  }
  return {trained,
          errors.size(),
          quantile(errors, 0.5),
          quantile(errors, 0.9),
          quantile(mean_errors, 0.5),
          spearman(predicted, measured),
          costs[best] / least - 1};
}

std::vector<std::size_t> shuffled(std::size_t count, unsigned seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

// Computes correlation coefficients, and selects their metrics.

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

std::vector<std::size_t> convex_hull(const std::vector<PlanePoint>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  const auto place = [&](std::size_t i) { return std::tuple(points[i].x, points[i].y); };
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return std::tuple(place(i), i) < std::tuple(place(j), j); });
  order.erase(std::unique(order.begin(), order.end(),
                          [&](std::size_t i, std::size_t j) { return place(i) == place(j); }),
              order.end());
  if (order.size() < 3) return order;
  std::vector<std::size_t> hull = chain(points, order);
  std::reverse(order.begin(), order.end());
  const std::vector<std::size_t> upper = chain(points, order);
  hull.insert(hull.end(), upper.begin() + 1, upper.end() - 1);
  const auto top = std::max_element(hull.begin(), hull.end(), [&](std::size_t i, std::size_t j) {
    return std::tuple(points[i].y, -points[i].x) < std::tuple(points[j].y, -points[j].x);
  });
  std::rotate(hull.begin(), top, hull.end());
  return hull;
}

std::vector<std::size_t> trade_off_arc(const std::vector<PlanePoint>& points,
                                       const std::vector<std::size_t>& hull) {
  if (hull.empty()) return {};
  const auto right = std::max_element(hull.begin(), hull.end(), [&](std::size_t i, std::size_t j) {
    return std::tuple(points[i].x, points[i].y) < std::tuple(points[j].x, points[j].y);
  });
  const auto top = std::max_element(hull.begin(), hull.end(), [&](std::size_t i, std::size_t j) {
    return std::tuple(points[i].y, points[i].x) < std::tuple(points[j].y, points[j].x);
  });
  std::vector<std::size_t> arc{*top};  // clockwise from the top is the reverse order of the hull
  for (auto at = top; at != right;) {
    at = at == hull.begin() ? hull.end() - 1 : at - 1;
    arc.push_back(*at);
  }
  return arc;
}

bool cut_at_x(const std::vector<PlanePoint>& points, const std::vector<std::size_t>& hull, double x,
              double& low, double& high) {
  low = std::numeric_limits<double>::infinity();
  high = -low;
  for (std::size_t i = 0; i < hull.size(); ++i) {
    const PlanePoint &a = points[hull[i]], &b = points[hull[(i + 1) % hull.size()]];
    if (x < std::min(a.x, b.x) || x > std::max(a.x, b.x)) continue;
    for (const double share : a.x == b.x ? std::vector{0.0, 1.0} : std::vector{(x - a.x) / (b.x - a.x)}) {
      const double y = a.y + share * (b.y - a.y);
      low = std::min(low, y);
      high = std::max(high, y);
    }
  }
  return low <= high;
}

std::vector<Prediction> predict_unseen(const std::vector<nlohmann::json>& configs,
                                       const std::vector<double>& costs, const PredictionFlags& flags) {
  const PointSet points(configs);
  std::vector<Prediction> list;
  for (const double share : flags.shares) {
    const auto trained = std::min(flags.most, static_cast<std::size_t>(share * double(configs.size())));
    if (trained < 5 || trained + 5 > configs.size()) continue;
    if (!list.empty() && list.back().trained == trained) continue;  // reached the limit again
    std::vector<Prediction> rounds(static_cast<std::size_t>(flags.rounds));
#pragma omp parallel for schedule(dynamic)
    for (std::size_t round = 0; round < rounds.size(); ++round)
      rounds[round] =
          one_round(points, costs, shuffled(configs.size(), flags.seed + unsigned(round)), trained);
    const auto centre = [&](double Prediction::*member) {
      std::vector<double> values;
      for (const Prediction& one : rounds) values.push_back(one.*member);
      return estimate(values).centre;
    };
    list.push_back({trained, configs.size() - trained, centre(&Prediction::median_error),
                    centre(&Prediction::high_error), centre(&Prediction::mean_error),
                    centre(&Prediction::rank), centre(&Prediction::regret)});
    if (flags.progress) flags.progress(list.size(), flags.shares.size());
  }
  return list;
}

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
