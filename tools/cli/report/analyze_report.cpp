// Writes the sections of the report: a summary of speed, then the figures in the order of the paper. Sections
// without data are named in one line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/estimate.hpp"
#include "core/quantity.hpp"
#include "people/refusal.hpp"
#include "report/analyze_figures.hpp"
#include "tune/strategy/strategy.hpp"

namespace tilewright::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;
constexpr std::size_t most_series = 6;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Returns the axes on which configs differ, in the order of the fields' names.
std::vector<std::string> varying_axes(const std::vector<nlohmann::json>& configs) {
  std::vector<std::string> names;
  const PointSet points(configs);
  for (const auto& axis : points.axes()) names.push_back(axis.name);
  return names;
}

class CaseReport {
 public:
  CaseReport(HtmlPage& page, const CaseAnalysis& a, std::string id, const std::vector<SweepCase>& all)
      : page_(page), a_(a), id_(std::move(id)), all_(all) {}

  void write() {
    page_.heading(a_.sweep.problem);
    summary();
    axes();
    if (!has_energy()) fastest_table();
    counts();
    cards();
    method();
    sizes();
    hull();
    correlations();
    classes();
    spreads();
    alphas();
    repeats();
    predictions();
    if (left_out_.empty()) return;
    page_.missing("Without data: " + left_out_ + ".");
  }

 private:
  bool has_energy() const { return !a_.points.empty(); }
  void leave_out(const std::string& section, const std::string& reason) {
    left_out_ += fmt::format("{}{} ({})", left_out_.empty() ? "" : "; ", section, reason);
  }
  // Begins a section of energy, unless none was measured, which the last line says once.
  bool begins_energy(const std::string& section) {
    if (has_energy()) {
      page_.subheading(section);
    } else {
      const char* const first = "no energy was measured for at least three configs";
      leave_out(section, left_out_.find(first) == std::string::npos ? first : "no energy");
    }
    return has_energy();
  }

  // The best config against the default, and the spread of all.
  void summary() {
    const SpeedSummary& s = a_.speed;
    const SweepPoint& best = a_.sweep.points[s.best];
    std::string text = fmt::format("The best of {} reaches {} GFLOP/s.",
                                   counted(std::ssize(a_.sweep.points), "config"), digits_text(best.gflops));
    if (s.standard && *s.standard == s.best)
      text += " It is the default.";
    else if (s.standard)
      text += fmt::format(" The default reaches {} GFLOP/s: its regret is {}.",
                          digits_text(a_.sweep.points[*s.standard].gflops), percent(s.regret));
    else
      text += " Which config is the default, the rows do not say.";
    page_.paragraph(text + fmt::format(" Half of all configs are faster than {} GFLOP/s, and the slowest "
                                       "reaches {}.",
                                       digits_text(s.median_gflops), digits_text(s.least_gflops)));
    page_.paragraph("The best: " + describe_config(best.config));
  }

  static std::string describe_config(const nlohmann::json& config) {
    std::string text;
    for (const auto& [axis, value] : config.items())
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", axis, text_of(value));
    return text;
  }

  void axes() {
    if (a_.speed.axes.empty()) return;
    page_.subheading("What each axis is worth");
    page_.paragraph(
        "How much slower the best config with the worst value of an axis is than the best of all. An axis of "
        "0 % does not matter: a best config exists with each of its values.");
    Rows rows;
    for (const AxisEffect& one : a_.speed.axes)
      rows.push_back(
          {one.axis, std::to_string(one.values), one.best_value, one.worst_value, percent(one.loss)});
    page_.table({"axis", "values", "best value", "worst value", "slower"}, rows);
  }

  std::string name(const char* part) const { return id_ + "_" + part; }
  std::string point_text(std::size_t i) const {
    return fmt::format("{:.0f} GFLOP/s at {:.2f} GFLOP/s/W ({:.4g} ms, {:.4g} J)", a_.plane[i].x,
                       a_.plane[i].y, 1e3 * a_.points[i].cost.seconds, *a_.points[i].cost.joules);
  }

  void counts() {
    page_.subheading("What was measured");
    const auto noted = std::count_if(a_.sweep.points.begin(), a_.sweep.points.end(),
                                     [](const SweepPoint& p) { return p.noted; });
    page_.paragraph(
        fmt::format("{} configs on {}, {} of them with energy, {} with counters of a profiler. {} "
                    "were measured while something was noted about the machine.",
                    a_.sweep.points.size(), a_.sweep.device.empty() ? "an unnamed device" : a_.sweep.device,
                    a_.points.size(), a_.profiled, noted));
    std::vector<std::string> items;
    for (const auto& [reason, count] : a_.sweep.excluded)
      items.push_back(fmt::format("{} {}", counted(std::int64_t(count), "config"), reason));
    for (const auto& [note, count] : a_.sweep.notes)
      items.push_back(fmt::format("{}: {}", counted(std::int64_t(count), "row"), note));
    if (!items.empty()) page_.list(items);
  }

  void cards() {
    if (a_.sweep.sentinel.empty()) {
      leave_out("change of the machine", "no library was timed between the configs");
    } else {
      Rows rows;
      for (const SweepJoin& join : a_.sweep.joins) {
        const auto known = a_.sweep.sentinels.find(join.uuid);
        if (known == a_.sweep.sentinels.end()) continue;
        rows.push_back(card_row(join, known->second));
      }
      page_.paragraph(
          fmt::format("The sentinel is {}: one fixed program, timed between the configs. Its range shows how "
                      "far the card itself changed.",
                      a_.sweep.sentinel));
      page_.table({"card", "version", "rows", "sentinels", "GFLOP/s", "range", "GFLOP/s/W", "range"}, rows);
    }
    if (a_.sweep.joins.size() < 2) return;
    Rows rows;
    for (const SweepJoin& join : a_.sweep.joins)
      rows.push_back({join.uuid, fmt::format("{:.4f}", join.time_factor),
                      fmt::format("{:.4f}", join.energy_factor), std::to_string(join.anchors),
                      percent(join.time_residual), percent(join.energy_residual)});
    page_.paragraph(
        "Several cards were joined: times and energies of each were multiplied by the factors that make "
        "its sentinel that of the first. What is left among configs that both measured:");
    page_.table({"card", "factor of time", "factor of energy", "configs on both",
                 "largest difference of time", "of energy"},
                rows);
  }

  std::vector<std::string> card_row(const SweepJoin& join,
                                    const std::vector<SentinelReading>& readings) const {
    std::vector<double> speed, efficiency;
    for (const SentinelReading& reading : readings) {
      speed.push_back(a_.sweep.flops / reading.seconds * 1e-9);
      if (reading.joules) efficiency.push_back(a_.sweep.flops / *reading.joules * 1e-9);
    }
    const auto centre = [](const std::vector<double>& values, int digits) {
      return values.empty() ? "" : fmt::format("{:.{}f}", estimate(values).centre, digits);
    };
    const auto range = [](const std::vector<double>& values) {
      if (values.size() < 2) return std::string();
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      return percent((*high - *low) / estimate(values).centre);
    };
    return {
        join.uuid,        join.sentinel_version, std::to_string(join.points), std::to_string(readings.size()),
        centre(speed, 0), range(speed),          centre(efficiency, 2),       range(efficiency)};
  }

  // Describes the method of measurement as the rows record it.
  void method() {
    std::vector<double> edges, error;
    for (const SweepPoint& p : a_.points) {
      if (const auto at = p.metrics.find("energy_edges"); at != p.metrics.end()) edges.push_back(at->second);
      if (const auto at = p.metrics.find("energy_error_share"); at != p.metrics.end())
        error.push_back(at->second);
    }
    if (edges.empty()) {
      if (has_energy())
        page_.missing("The rows do not state between how many changes of the meter their energy was taken.");
      return;
    }
    page_.paragraph(fmt::format(
        "Energy is the power between two changes of the card's energy counter under a load without pauses, "
        "times the time of a launch. A window had {:.0f} changes (the median; at least {:.0f}); the delay "
        "with which the first and the last were seen is {:.2f} % of a window (the median; at most {:.2f} %).",
        estimate(edges).centre, *std::min_element(edges.begin(), edges.end()), 100 * estimate(error).centre,
        100 * *std::max_element(error.begin(), error.end())));
  }

  void sizes() {
    const char* const section = "Performance and efficiency against n (Fig. 4)";
    const auto series = size_series(all_, a_.sweep, most_series);
    if (series.empty()) return leave_out(section, "No config was measured at two sizes");
    page_.subheading(section);
    page_.figure(size_figure(name("fig4a"), series, false),
                 "Performance of the configs that were measured at the most sizes.");
    if (const std::string svg = size_figure(name("fig4b"), series, true); !svg.empty())
      page_.figure(svg, "Their energy efficiency.");
    std::vector<std::string> items;
    for (const SizeSeries& one : series)
      if (one.config.is_object()) items.push_back(one.name + ": " + one.config.dump());
    page_.list(items);
  }

  void hull() {
    if (!begins_energy("Energy efficiency against performance (Fig. 5)")) return;
    page_.figure(
        hull_figure(name("fig5"), a_),
        "Every config, the convex hull of all, and its arc from the most efficient to the fastest: no config "
        "is better than those in both. Dashed: the efficiency of the fastest, the speed of the most "
        "efficient.");
    page_.paragraph("Configs on the hull (Table II), counterclockwise from the most efficient:");
    point_table(a_.points, a_.hull, true);
  }

  // Lists the ten fastest if there is no energy.
  void fastest_table() {
    std::vector<std::size_t> order(a_.sweep.points.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
      return a_.sweep.points[i].gflops > a_.sweep.points[j].gflops;
    });
    if (order.size() > 10) order.resize(10);
    page_.paragraph(fmt::format("The {} fastest configs:", order.size()));
    point_table(a_.sweep.points, order, false);
  }

  // Results come first. Configs that differ on many axes have one column, in which lines may break.
  void point_table(const std::vector<SweepPoint>& points, const std::vector<std::size_t>& chosen,
                   bool energy) {
    constexpr std::size_t most_axes = 8;
    std::vector<nlohmann::json> configs;
    for (const std::size_t i : chosen) configs.push_back(points[i].config);
    const std::vector<std::string> axes = varying_axes(configs);
    std::vector<std::string> head = {"GFLOP/s"};
    if (energy) head.insert(head.end(), {"GFLOP/s/W", "long: GFLOP/s", "long: GFLOP/s/W"});
    if (axes.size() > most_axes)
      head.emplace_back("config");
    else
      head.insert(head.end(), axes.begin(), axes.end());
    Rows rows;
    for (const std::size_t i : chosen) {
      std::vector<std::string> row = {fmt::format("{:.1f}", points[i].gflops)};
      if (energy) {
        row.push_back(fmt::format("{:.2f}", *points[i].efficiency));
        add_long(points[i], row);
      }
      nlohmann::json shown = nlohmann::json::object();
      for (const std::string& axis : axes) shown[axis] = points[i].config.at(axis);
      if (axes.size() > most_axes)
        row.push_back(describe_config(shown));
      else
        for (const std::string& axis : axes) row.push_back(text_of(shown[axis]));
      rows.push_back(row);
    }
    page_.table(head, rows);
  }

  void add_long(const SweepPoint& point, std::vector<std::string>& row) const {
    for (const SweepRepeat& repeat : a_.sweep.repeats) {
      if (repeat.config != point.config) continue;
      row.push_back(fmt::format("{:.1f}", a_.sweep.flops / estimate(repeat.seconds).centre * 1e-9));
      row.push_back(repeat.joules.empty()
                        ? ""
                        : fmt::format("{:.2f}", a_.sweep.flops / estimate(repeat.joules).centre * 1e-9));
      return;
    }
    row.insert(row.end(), {"", ""});
  }

  void correlations() {
    const char* const section = "Correlation of metrics (Figs. 6 to 8)";
    if (a_.correlations.empty()) return leave_out(section, "the rows hold no metric that varies");
    page_.subheading(section);
    page_.paragraph(
        "Pearson's coefficient of each metric that varies, the forty largest by their size. Names with "
        "\"counters.\" are a profiler's; \"bytes.\" and \"instructions.\" were counted from config and "
        "compiled code; \"config.\" are the config's own fields. A coefficient says what goes together "
        "in this sweep, which is no sample of anything else, and not what causes what.");
    if (a_.profiled == 0) leave_out("counters of a profiler", "--counters was not given");
    page_.figure(correlation_figure(name("fig6"), a_.correlations, &Correlation::performance),
                 "Correlation with performance (Fig. 6).");
    if (!has_energy()) return leave_out("correlations with efficiency (Figs. 7 and 8)", "no energy");
    page_.figure(correlation_figure(name("fig7"), a_.correlations, &Correlation::efficiency),
                 "Correlation with energy efficiency (Fig. 7).");
    page_.figure(correlation_figure(name("fig8"), a_.correlations, &Correlation::product),
                 "Correlation with performance times efficiency (Fig. 8).");
    moved_table();
  }

  // Lists the metrics that affect speed and energy differently, which the paper sets in bold.
  void moved_table() {
    std::vector<Correlation> order = a_.correlations;
    const auto move = [](const Correlation& c) { return std::abs(c.performance - c.efficiency); };
    std::stable_sort(order.begin(), order.end(),
                     [&](const Correlation& x, const Correlation& y) { return move(x) > move(y); });
    if (order.size() > 8) order.resize(8);
    Rows rows;
    for (const Correlation& c : order)
      rows.push_back({c.metric, fmt::format("{:+.2f}", c.performance), fmt::format("{:+.2f}", c.efficiency),
                      fmt::format("{:+.2f}", c.performance_rank), fmt::format("{:+.2f}", c.efficiency_rank),
                      std::to_string(c.points)});
    page_.paragraph("The metrics whose coefficients differ most between performance and efficiency:");
    page_.table(
        {"metric", "performance", "efficiency", "performance (ranks)", "efficiency (ranks)", "configs"},
        rows);
  }

  void classes() {
    if (!begins_energy("Classes of a metric (Fig. 9)")) return;
    std::size_t number = 0;
    for (const ClassOf& one : a_.classes) {
      ++number;
      if (!one.found) {
        page_.missing(
            fmt::format("{}: neither counted nor derived, or the same for all ({}).", one.title, one.wanted));
        continue;
      }
      const MetricClass& c = *one.found;
      page_.figure(
          class_figure(name(fmt::format("fig9_{}", number).c_str()), a_, c),
          fmt::format("{} ({}): {} configs above the mean of {:.4g} and {} below. Medians: above {:.0f} "
                      "GFLOP/s and {:.2f} GFLOP/s/W, below {:.0f} and {:.2f}.",
                      one.title, c.metric, c.above.size(), c.mean, c.below.size(), c.above_gflops,
                      c.above_efficiency, c.below_gflops, c.below_efficiency));
    }
  }

  void spreads() {
    if (!begins_energy("Spread at equal speed and at equal energy (3.3), quadrants (3.4)")) return;
    const Spread &energy = *a_.energy_spread, &time = *a_.time_spread;
    page_.paragraph(
        fmt::format("Among configs within {} of {:.0f} GFLOP/s ({} configs) one takes {:.2f} times the "
                    "energy of another: {} "
                    "against {}. Among configs within {} of {:.2f} GFLOP/s/W ({} configs) one takes {:.2f} "
                    "times the time of "
                    "another: {} against {}.",
                    percent(a_.tolerance), energy.at, energy.count, energy.ratio, point_text(energy.most),
                    point_text(energy.least), percent(a_.tolerance), time.at, time.count, time.ratio,
                    point_text(time.most), point_text(time.least)));
    const Quadrants& q = *a_.quadrants;
    double low = 0, high = 0;
    std::string cut;
    if (cut_at_x(a_.plane, a_.hull, a_.plane[q.frugal].x, low, high))
      cut = fmt::format(
          " The vertical line at its speed cuts the hull from {:.2f} to {:.2f} GFLOP/s/W, a factor of "
          "{:.2f}.",
          low, high, high / low);
    const double saved = 1 - *a_.points[q.frugal].cost.joules / *a_.points[q.fastest].cost.joules;
    const double slower = a_.points[q.frugal].cost.seconds / a_.points[q.fastest].cost.seconds - 1;
    page_.paragraph(
        fmt::format("The fastest config reaches {}. The most efficient reaches {}: {} less energy for {} "
                    "more time.{}",
                    point_text(q.fastest), point_text(q.frugal), percent(saved), percent(slower), cut));
    const double count = double(a_.points.size());
    page_.paragraph(
        fmt::format("{} configs ({}) are faster than the most efficient one, {} ({}) are more efficient than "
                    "the fastest, {} are both.",
                    q.faster, percent(double(q.faster) / count), q.more_frugal,
                    percent(double(q.more_frugal) / count), q.both));
  }

  void alphas() {
    if (!begins_energy("What alpha t + (1 - alpha) e picks (3.4)")) return;
    page_.paragraph(
        "Time and energy are each divided by the least of all configs. With alpha = 0 energy alone counts, "
        "with alpha = 1 time alone.");
    page_.figure(alpha_figure(name("alpha"), a_), "Performance and efficiency of the config that is picked.");
    Rows rows;
    for (const AlphaPick& pick : a_.alphas)
      rows.push_back({fmt::format("{:.3f}", pick.from), fmt::format("{:.1f}", a_.plane[pick.point].x),
                      fmt::format("{:.2f}", a_.plane[pick.point].y), a_.points[pick.point].config.dump()});
    page_.table({"from alpha", "GFLOP/s", "GFLOP/s/W", "config"}, rows);
  }

  void repeats() {
    const char* const section = "Repeated measurements and the error of the screening";
    if (a_.repeats.empty()) return leave_out(section, "no config was measured long");
    page_.subheading(section);
    std::vector<double> screen_time, screen_energy;
    Rows rows;
    for (std::size_t i = 0; i < a_.repeats.size(); ++i) {
      const RepeatSpread& r = a_.repeats[i];
      if (r.screen_time) screen_time.push_back(std::abs(*r.screen_time));
      if (r.screen_energy) screen_energy.push_back(std::abs(*r.screen_energy));
      if (a_.sweep.repeats[i].seconds.size() > 1)
        rows.push_back({std::to_string(a_.sweep.repeats[i].seconds.size()), percent(r.time_share),
                        percent(r.time_deviation), percent(r.energy_share), percent(r.energy_deviation),
                        a_.sweep.repeats[i].config.dump()});
    }
    const auto sentence = [](const char* what, const std::vector<double>& values) {
      return values.empty() ? std::string()
                            : fmt::format(
                                  "The screening's {} differs from the long one's by {} (the median of {} "
                                  "configs) and at most {}. ",
                                  what, percent(estimate(values).centre), values.size(),
                                  percent(*std::max_element(values.begin(), values.end())));
    };
    page_.paragraph(fmt::format("{} configs were measured long. {}{}", a_.repeats.size(),
                                sentence("time", screen_time), sentence("energy", screen_energy)));
    if (rows.empty()) return page_.missing("None of them was repeated, so their own spread is not known.");
    page_.table({"times", "time: range", "mean deviation", "energy: range", "mean deviation", "config"},
                rows);
  }

  void predictions() {
    const char* const section = "Energy of unseen configs from a part of the sweep (section 4)";
    if (a_.energy_predictions.empty())
      return leave_out(section,
                       has_energy() ? "too few configs to train on some and predict others" : "no energy");
    page_.subheading(section);
    page_.paragraph(
        "The tuner's surrogate (a Gaussian process over the config's fields) is trained on a random part and "
        "predicts all others; medians of five random parts. Regret is the cost of the config that it "
        "predicts as best over that of the best unseen config.");
    page_.figure(prediction_figure(name("prediction"), a_),
                 "Error of the prediction over the size of the part.");
    Rows rows;
    for (const auto* list : {&a_.energy_predictions, &a_.time_predictions})
      for (const Prediction& p : *list)
        rows.push_back({list == &a_.energy_predictions ? "energy" : "time", std::to_string(p.trained),
                        std::to_string(p.asked), percent(p.median_error), percent(p.high_error),
                        percent(p.mean_error), fmt::format("{:.3f}", p.rank), percent(p.regret)});
    page_.table({"of", "trained on", "predicted", "median error", "90th percentile", "guessing the mean",
                 "rank correlation", "regret"},
                rows);
  }

  HtmlPage& page_;
  const CaseAnalysis& a_;
  std::string id_;
  const std::vector<SweepCase>& all_;
  std::string left_out_;  // sections without data, with the reasons
};

}  // namespace

std::string analysis_page(const std::vector<CaseAnalysis>& analyses, const std::vector<SweepCase>& all,
                          const std::vector<std::string>& files) {
  if (const std::string fault = gnuplot_fault(); !fault.empty())
    not_supported("--html", "--html draws with gnuplot, and {}; --json needs none", fault);
  HtmlPage page("Performance and energy of a sweep");
  std::string names;
  for (const std::string& file : files)
    names += (names.empty() ? "" : ", ") + file.substr(file.rfind('/') + 1);
  page.paragraph(
      fmt::format("From {}. Figures and sections are those of Anzt, Haugen, Kurzak, Luszczek, Dongarra: "
                  "Experiences in autotuning matrix multiplication for energy minimization on GPUs "
                  "(2015). docs/analyze.md tells how sweeps are measured and with what error.",
                  names));
  if (all.size() > analyses.size())
    page.paragraph(
        fmt::format("{} further problems of the sweep have no section of their own; they serve the figures "
                    "over n.",
                    all.size() - analyses.size()));
  for (std::size_t i = 0; i < analyses.size(); ++i)
    CaseReport(page, analyses[i], fmt::format("case{}", i + 1), all).write();
  return page.text();
}

}  // namespace tilewright::cli
