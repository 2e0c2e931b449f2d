// Combines the parts of the analysis.
#include "analyze/case.hpp"

#include <algorithm>
#include <map>

#include "core/estimate.hpp"
#include "core/objective.hpp"
#include "core/problem.hpp"

namespace tilewright {
namespace {

// Metrics that classify as in Fig. 9, best source first: a counter, otherwise the sweep's own count.
struct Wanted {
  const char* title;
  std::vector<std::string> names;
};
const std::vector<Wanted>& wanted_classes() {
  static const std::vector<Wanted> list = {
      {"occupancy", {"counters.sm__warps_active.avg.pct_of_peak_sustained_active", "occupancy"}},
      {"instruction rate",
       {"counters.sm__inst_executed.avg.per_cycle_active", "counters.sm__inst_issued.avg.per_cycle_active",
        "instructions.all_per_s"}},
      {"device memory throughput",
       {"counters.dram__bytes.sum.per_second", "counters.dram__bytes_read.sum.per_second",
        "bytes.memory_per_s"}},
      {"L2 throughput", {"counters.lts__t_bytes.sum.per_second", "bytes.l2_per_s"}},
      {"texture and L1 throughput", {"counters.l1tex__t_bytes.sum.per_second"}},
      {"shared memory throughput", {"bytes.shared_per_s"}}};
  return list;
}

void classify_all(CaseAnalysis& a) {
  for (const Wanted& wanted : wanted_classes()) {
    ClassOf one{wanted.title, wanted.names.front(), std::nullopt};
    // A profiler's sample is smaller than the sweep, but the better source.
    for (const std::string& name : wanted.names) {
      const auto known = std::count_if(a.points.begin(), a.points.end(),
                                       [&](const SweepPoint& p) { return p.metrics.count(name) != 0; });
      if (known < 20 && std::size_t(known) * 2 < a.points.size()) continue;
      one.found = classify(a.points, name);
      if (one.found) break;
    }
    a.classes.push_back(std::move(one));
  }
}

void predict(CaseAnalysis& a, const std::function<void(std::size_t, std::size_t)>& progress) {
  std::vector<nlohmann::json> configs;
  std::vector<double> seconds, joules;
  for (const SweepPoint& p : a.points) {
    configs.push_back(p.config);
    seconds.push_back(p.cost.seconds);
    joules.push_back(*p.cost.joules);
  }
  if (configs.size() < 20) return;
  const auto part = [&](std::size_t before) {
    PredictionFlags flags;
    if (progress)
      flags.progress = [&progress, before](std::size_t done, std::size_t of) {
        progress(before * of + done, 2 * of);
      };
    return flags;
  };
  a.energy_predictions = predict_unseen(configs, joules, part(0));
  a.time_predictions = predict_unseen(configs, seconds, part(1));
}

// A number derived from energy is null if no energy was measured.
nlohmann::json if_measured(bool is_measured, double value) {
  return is_measured ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json point_json(const SweepPoint& p) {
  nlohmann::json json{{"config", p.config}, {"seconds", p.cost.seconds}, {"gflops", p.gflops}};
  if (p.cost.joules) json["energy_j"] = *p.cost.joules;
  if (p.efficiency) json["gflops_per_watt"] = *p.efficiency;
  return json;
}

nlohmann::json spread_json(const CaseAnalysis& a, const Spread& spread) {
  return {{"ratio", spread.ratio},
          {"at", spread.at},
          {"points", spread.count},
          {"tolerance", a.tolerance},
          {"least", point_json(a.points[spread.least])},
          {"most", point_json(a.points[spread.most])}};
}

nlohmann::json summary_json(const CaseAnalysis& a) {
  nlohmann::json json{{"section", "sweep"},
                      {"device", a.sweep.device},
                      {"configs", a.sweep.points.size()},
                      {"with_energy", a.points.size()},
                      {"profiled", a.profiled},
                      {"excluded", a.sweep.excluded},
                      {"notes", a.sweep.notes},
                      {"sentinel", a.sweep.sentinel}};
  for (const SweepJoin& join : a.sweep.joins)
    json["joins"].push_back(
        {{"device_uuid", join.uuid},
         {"rows", join.points},
         {"sentinels", join.sentinels},
         {"sentinel_version", join.sentinel_version},
         {"time_factor", join.time_factor},
         {"energy_factor", if_measured(a.sweep.has_energy() && join.energy_factor > 0, join.energy_factor)},
         {"anchors", join.anchors},
         {"time_residual", join.time_residual},
         {"energy_residual",
          if_measured(a.sweep.has_energy() && join.energy_factor > 0, join.energy_residual)}});
  return json;
}

void add_predictions(std::vector<nlohmann::json>& lines, const std::vector<Prediction>& list,
                     const char* what) {
  for (const Prediction& p : list)
    lines.push_back({{"section", "prediction"},
                     {"of", what},
                     {"trained", p.trained},
                     {"asked", p.asked},
                     {"median_error", p.median_error},
                     {"p90_error", p.high_error},
                     {"median_error_of_mean", p.mean_error},
                     {"rank_correlation", p.rank},
                     {"regret", p.regret}});
}

void add_metrics(std::vector<nlohmann::json>& lines, const CaseAnalysis& a) {
  const bool has_energy = a.sweep.has_energy();
  for (const Correlation& c : a.correlations)
    lines.push_back({{"section", "correlation"},
                     {"metric", c.metric},
                     {"points", c.points},
                     {"performance", c.performance},
                     {"efficiency", if_measured(has_energy, c.efficiency)},
                     {"product", if_measured(has_energy, c.product)},
                     {"performance_rank", c.performance_rank},
                     {"efficiency_rank", if_measured(has_energy, c.efficiency_rank)}});
  for (const ClassOf& c : a.classes) {
    nlohmann::json line{{"section", "class"}, {"title", c.title}};
    if (c.found)
      line.update({{"metric", c.found->metric},
                   {"mean", c.found->mean},
                   {"above", c.found->above.size()},
                   {"below", c.found->below.size()},
                   {"above_gflops", c.found->above_gflops},
                   {"below_gflops", c.found->below_gflops},
                   {"above_gflops_per_watt", c.found->above_efficiency},
                   {"below_gflops_per_watt", c.found->below_efficiency}});
    else
      line["missing"] = c.wanted;
    lines.push_back(line);
  }
}

void add_repeats(std::vector<nlohmann::json>& lines, const CaseAnalysis& a) {
  for (std::size_t i = 0; i < a.repeats.size(); ++i) {
    const RepeatSpread& r = a.repeats[i];
    const bool has_energy = !a.sweep.repeats[i].joules.empty();
    nlohmann::json line{{"section", "repeat"},
                        {"config", a.sweep.repeats[i].config},
                        {"times", a.sweep.repeats[i].seconds.size()},
                        {"time_share", r.time_share},
                        {"energy_share", if_measured(has_energy, r.energy_share)},
                        {"time_deviation", r.time_deviation},
                        {"energy_deviation", if_measured(has_energy, r.energy_deviation)}};
    if (r.screen_time) line["screen_time"] = *r.screen_time;
    if (r.screen_energy) line["screen_energy"] = *r.screen_energy;
    lines.push_back(line);
  }
}

// Adds the best config for each objective among those with energy; by time alone if none has any.
void add_best(std::vector<nlohmann::json>& lines, const CaseAnalysis& a) {
  const bool has_energy = !a.points.empty();
  const std::vector<SweepPoint>& points = has_energy ? a.points : a.sweep.points;
  std::vector<Metrics> costs;
  for (const SweepPoint& p : points) costs.push_back(p.cost);
  if (costs.empty()) return;
  for (const char* text : {"time", "energy", "edp", "energy_within=5%"}) {
    const TuneObjective objective = TuneObjective::parse(text);
    if (objective.needs_energy() && !has_energy) continue;
    nlohmann::json line = point_json(points[objective.best(costs, costs.front())]);
    line["section"] = "best", line["objective"] = objective.text();
    lines.push_back(std::move(line));
  }
}

// Compares bests, not means: a sweep holds many configs that nobody would take.

std::string word(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The GFLOP/s of the best config with each value of each axis.
std::map<std::string, std::map<std::string, double>> best_by_value(const std::vector<SweepPoint>& points) {
  std::map<std::string, std::map<std::string, double>> best;
  for (const SweepPoint& p : points)
    for (const auto& [axis, value] : p.config.items()) {
      double& most = best[axis][word(value)];
      most = std::max(most, p.gflops);
    }
  return best;
}

}  // namespace

CaseAnalysis analyse(SweepCase sweep, std::function<void(std::size_t done, std::size_t of)> progress) {
  CaseAnalysis a;
  a.sweep = std::move(sweep);
  add_rates(a.sweep);
  a.speed = speed_summary(a.sweep.points);
  for (const SweepPoint& p : a.sweep.points) {
    const auto counter = p.metrics.lower_bound("counters.");
    a.profiled += counter != p.metrics.end() && counter->first.starts_with("counters.");
    if (p.efficiency) a.points.push_back(p);
  }
  for (const SweepRepeat& repeat : a.sweep.repeats) a.repeats.push_back(spread_of(repeat));
  if (!a.sweep.has_energy()) {
    a.points.clear();
    a.correlations = correlate(a.sweep.points);  // correlations with performance alone
    return a;
  }
  for (const SweepPoint& p : a.points) a.plane.push_back({p.gflops, *p.efficiency});
  a.hull = convex_hull(a.plane);
  a.arc = trade_off_arc(a.plane, a.hull);
  a.correlations = correlate(a.points);
  classify_all(a);
  a.energy_spread = energy_spread_at_equal_speed(a.points, a.tolerance);
  a.time_spread = time_spread_at_equal_energy(a.points, a.tolerance);
  a.quadrants = quadrants(a.points);
  a.alphas = alpha_walk(a.points);
  predict(a, progress);
  return a;
}

namespace {

nlohmann::json speed_json(const CaseAnalysis& a) {
  const SpeedSummary& s = a.speed;
  nlohmann::json line{{"section", "speed"},
                      {"best_gflops", a.sweep.points[s.best].gflops},
                      {"default_gflops", nullptr},
                      {"regret", nullptr},
                      {"median_gflops", s.median_gflops},
                      {"least_gflops", s.least_gflops},
                      {"axes", nlohmann::json::array()}};
  if (s.standard) line["default_gflops"] = a.sweep.points[*s.standard].gflops, line["regret"] = s.regret;
  for (const AxisEffect& one : s.axes)
    line["axes"].push_back({{"axis", one.axis},
                            {"values", one.values},
                            {"best_value", one.best_value},
                            {"worst_value", one.worst_value},
                            {"loss", one.loss}});
  return line;
}

}  // namespace

std::vector<nlohmann::json> to_json_lines(const CaseAnalysis& a) {
  std::vector<nlohmann::json> lines{summary_json(a)};
  for (const std::size_t corner : a.hull) {
    auto line = point_json(a.points[corner]);
    line["section"] = "hull";
    line["on_arc"] = std::find(a.arc.begin(), a.arc.end(), corner) != a.arc.end();
    lines.push_back(line);
  }
  add_best(lines, a);
  add_metrics(lines, a);
  if (a.energy_spread) {
    auto line = spread_json(a, *a.energy_spread);
    line["section"] = "energy_at_equal_speed";
    lines.push_back(line);
    line = spread_json(a, *a.time_spread);
    line["section"] = "time_at_equal_energy";
    lines.push_back(line);
  }
  if (a.quadrants)
    lines.push_back({{"section", "quadrants"},
                     {"faster_than_most_frugal", a.quadrants->faster},
                     {"more_frugal_than_fastest", a.quadrants->more_frugal},
                     {"both", a.quadrants->both},
                     {"fastest", point_json(a.points[a.quadrants->fastest])},
                     {"most_frugal", point_json(a.points[a.quadrants->frugal])}});
  for (const AlphaPick& pick : a.alphas) {
    auto line = point_json(a.points[pick.point]);
    line["section"] = "alpha";
    line["from"] = pick.from;
    lines.push_back(line);
  }
  add_repeats(lines, a);
  add_predictions(lines, a.energy_predictions, "energy");
  add_predictions(lines, a.time_predictions, "time");
  lines.push_back(speed_json(a));
  for (auto& line : lines) line["problem"] = a.sweep.problem;
  return lines;
}

std::vector<SizeSeries> size_series(const std::vector<SweepCase>& cases, const SweepCase& like,
                                    std::size_t most) {
  const auto shape = [](const std::string& text, std::int64_t& n) {
    GemmProblem p = parse_problem(text);
    const bool square = p.m == p.n && p.n == p.k;
    n = p.n;
    p.m = p.n = p.k = p.lda = p.ldb = p.ldc = 0;
    return square ? fmt::format("{} {} {} {} {}", to_string(p.dtype), op_pair(p), to_string(p.layout),
                                to_string(p.location), int(p.beta))
                  : "";
  };
  std::int64_t n = 0;
  const std::string wanted = shape(like.problem, n);
  if (wanted.empty()) return {};
  std::map<std::int64_t, const SweepCase*> sizes;
  for (const SweepCase& one : cases)
    if (shape(one.problem, n) == wanted && one.device == like.device) sizes[n] = &one;
  std::map<std::string, SizeSeries> by_config;
  SizeSeries peer;
  peer.name = like.sentinel;
  for (const auto& [size, one] : sizes) {
    for (const SweepPoint& p : one->points) {
      SizeSeries& series = by_config[p.config.dump()];
      series.config = p.config;
      series.n.push_back(double(size));
      series.gflops.push_back(p.gflops);
      series.efficiency.push_back(p.efficiency);
    }
    const auto known = one->sentinels.find(one->joins.front().uuid);
    if (known == one->sentinels.end()) continue;
    const SentinelReading reading = median_of(known->second);
    peer.n.push_back(double(size));
    peer.gflops.push_back(one->flops / reading.seconds * 1e-9);
    peer.efficiency.push_back(reading.joules ? std::optional(one->flops / *reading.joules * 1e-9)
                                             : std::nullopt);
  }
  std::vector<SizeSeries> list;
  for (auto& [key, series] : by_config)
    if (series.n.size() > 1) list.push_back(std::move(series));
  std::stable_sort(list.begin(), list.end(), [](const SizeSeries& x, const SizeSeries& y) {
    return x.n.size() != y.n.size() ? x.n.size() > y.n.size() : x.gflops.back() > y.gflops.back();
  });
  if (list.size() > most) list.resize(most);
  for (std::size_t i = 0; i < list.size(); ++i) list[i].name = fmt::format("config {}", i + 1);
  if (!list.empty() && peer.n.size() > 1) list.push_back(std::move(peer));
  return list;
}

SpeedSummary speed_summary(const std::vector<SweepPoint>& points) {
  SpeedSummary summary;
  const auto slower = [](const SweepPoint& x, const SweepPoint& y) { return x.gflops < y.gflops; };
  summary.best = std::size_t(std::max_element(points.begin(), points.end(), slower) - points.begin());
  const double best = points[summary.best].gflops;
  std::vector<double> speeds;
  for (std::size_t i = 0; i < points.size(); ++i) {
    speeds.push_back(points[i].gflops);
    if (points[i].is_default) summary.standard = i;
  }
  if (summary.standard) summary.regret = best / points[*summary.standard].gflops - 1;
  summary.least_gflops = *std::min_element(speeds.begin(), speeds.end());
  summary.median_gflops = estimate(speeds).centre;
  for (const auto& [axis, values] : best_by_value(points)) {
    if (values.size() < 2) continue;
    const auto by_speed = [](const auto& x, const auto& y) { return x.second < y.second; };
    const auto [low, high] = std::minmax_element(values.begin(), values.end(), by_speed);
    summary.axes.push_back({axis, high->first, low->first, values.size(), best / low->second - 1});
  }
  std::stable_sort(summary.axes.begin(), summary.axes.end(),
                   [](const AxisEffect& x, const AxisEffect& y) { return x.loss > y.loss; });
  return summary;
}

}  // namespace tilewright
