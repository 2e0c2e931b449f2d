// Writes scripts for gnuplot with their data inside.
#include "report/analyze_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/gnuplot.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* performance_label = "performance [GFLOP/s]";
constexpr const char* efficiency_label = "energy efficiency [GFLOP/s/W]";
constexpr std::size_t most_bars = 40;

// Holds "$name << EOD" and its lines.
class PlotData {
 public:
  explicit PlotData(const std::string& name) : text_(fmt::format("${} << EOD\n", name)) {}
  void line(const std::vector<double>& values) {
    for (const double value : values) text_ += fmt::format("{} ", value);
    text_ += '\n';
  }
  std::string text() const { return text_ + "EOD\n"; }

 private:
  std::string text_;
};

std::string labels(const std::string& x, const std::string& y) {
  return fmt::format("set xlabel {}\nset ylabel {}\n", quoted_for_gnuplot(x), quoted_for_gnuplot(y));
}

// Returns the sentinel of the reference card.
std::optional<PlanePoint> sentinel_point(const SweepCase& sweep) {
  const auto known = sweep.sentinels.find(sweep.joins.front().uuid);
  if (known == sweep.sentinels.end()) return std::nullopt;
  const SentinelReading reading = median_of(known->second);
  if (!reading.joules) return std::nullopt;
  return PlanePoint{sweep.flops / reading.seconds * 1e-9, sweep.flops / *reading.joules * 1e-9};
}

}  // namespace

std::string hull_figure(const std::string& name, const CaseAnalysis& a) {
  PlotData points("points"), hull("hull"), arc("arc"), winners("winners");
  for (const PlanePoint& p : a.plane) points.line({p.x, p.y});
  for (std::size_t i = 0; i <= a.hull.size(); ++i) {
    const PlanePoint& p = a.plane[a.hull[i % a.hull.size()]];
    hull.line({p.x, p.y});
  }
  for (const std::size_t i : a.arc) arc.line({a.plane[i].x, a.plane[i].y});
  for (const std::size_t i : {a.quadrants->fastest, a.quadrants->frugal})
    winners.line({a.plane[i].x, a.plane[i].y});
  const PlanePoint fast = a.plane[a.quadrants->fastest], frugal = a.plane[a.quadrants->frugal];
  std::string script =
      points.text() + hull.text() + arc.text() + winners.text() + labels(performance_label, efficiency_label);
  // Draws the horizontal and the vertical of section 3.3.
  script +=
      fmt::format("set arrow 1 from graph 0, first {} to graph 1, first {} nohead dt 2 lc rgb '#888888'\n",
                  fast.y, fast.y);
  script +=
      fmt::format("set arrow 2 from first {}, graph 0 to first {}, graph 1 nohead dt 2 lc rgb '#888888'\n",
                  frugal.x, frugal.x);
  script +=
      "plot $points with points pt 7 ps 0.35 lc rgb '#4477aa' title 'configs', "
      "$hull with lines lc rgb '#888888' title 'convex hull', "
      "$arc with linespoints pt 6 lw 2 lc rgb '#cc3311' title 'trade-off arc', "
      "$winners with points pt 6 ps 1.6 lw 2 lc rgb '#000000' title 'fastest, most efficient'";
  if (const auto peer = sentinel_point(a.sweep)) {
    PlotData one("peer");
    one.line({peer->x, peer->y});
    script = one.text() + script + ", $peer with points pt 9 ps 1.4 lc rgb '#228833' title " +
             quoted_for_gnuplot(a.sweep.sentinel);
  }
  return draw_svg(name, 860, 600, script + "\n");
}

std::string size_figure(const std::string& name, const std::vector<SizeSeries>& series, bool efficiency) {
  std::string data, plot;
  for (std::size_t s = 0; s < series.size(); ++s) {
    const std::string own = fmt::format("s{}", s);
    PlotData lines(own);
    std::size_t count = 0;
    for (std::size_t i = 0; i < series[s].n.size(); ++i) {
      if (efficiency && !series[s].efficiency[i]) continue;
      lines.line({series[s].n[i], efficiency ? *series[s].efficiency[i] : series[s].gflops[i]});
      ++count;
    }
    if (count == 0) continue;
    data += lines.text();
    plot += fmt::format("{}${} with linespoints pt {} title {}", plot.empty() ? "plot " : ", ", own, s + 4,
                        quoted_for_gnuplot(series[s].name));
  }
  if (plot.empty()) return "";
  return draw_svg(name, 860, 420,
                  data + labels("n", efficiency ? efficiency_label : performance_label) +
                      "set yrange [0:*]\n" + plot + "\n");
}

std::string correlation_figure(const std::string& name, const std::vector<Correlation>& correlations,
                               double Correlation::*coefficient) {
  std::vector<Correlation> order = correlations;
  const auto weaker = [&](const Correlation& x, const Correlation& y) {
    return std::abs(x.*coefficient) > std::abs(y.*coefficient);
  };
  std::stable_sort(order.begin(), order.end(), weaker);
  if (order.size() > most_bars) order.resize(most_bars);
  std::stable_sort(order.begin(), order.end(), [&](const Correlation& x, const Correlation& y) {
    return x.*coefficient < y.*coefficient;
  });
  PlotData bars("bars");
  std::string tics;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double value = order[i].*coefficient, at = -double(i);
    bars.line({value / 2, at, std::min(0.0, value), std::max(0.0, value), at - 0.35, at + 0.35,
               value < 0 ? double(0xcc3311) : double(0x4477aa)});
    tics += fmt::format("{}{} {}", tics.empty() ? "" : ", ", quoted_for_gnuplot(order[i].metric), at);
  }
  const int height = 100 + 18 * static_cast<int>(order.size());
  return draw_svg(name, 860, height,
                  bars.text() +
                      fmt::format("set ytics ({})\nset xrange [-1:1]\nset yrange [{}:1]\nset nokey\n"
                                  "set style fill solid\nset xlabel 'correlation coefficient'\n",
                                  tics, -double(order.size())) +
                      "plot $bars using 1:2:3:4:5:6:7 with boxxyerror lc rgb variable\n");
}

std::string class_figure(const std::string& name, const CaseAnalysis& a, const MetricClass& metric) {
  std::string data;
  for (const bool above : {false, true}) {
    PlotData lines(above ? "above" : "below");
    for (const std::size_t i : above ? metric.above : metric.below)
      lines.line({a.points[i].metrics.at(metric.metric), a.plane[i].x, a.plane[i].y});
    data += lines.text();
  }
  const auto pane = [&](const std::string& x, const std::string& y, const char* columns) {
    return labels(x, y) + fmt::format(
                              "plot $below using {0} with points pt 7 ps 0.3 lc rgb '#228833' title "
                              "'below the mean', $above using {0} with points pt 5 ps 0.3 lc rgb "
                              "'#cc3311' title 'above'\n",
                              columns);
  };
  return draw_svg(name, 1100, 420,
                  data + "set multiplot layout 1,3\nset format x '%.3g'\nset xtics rotate by -35\n" +
                      pane(metric.metric, performance_label, "1:2") +
                      pane(metric.metric, efficiency_label, "1:3") + "set format x '%g'\n" +
                      pane(performance_label, efficiency_label, "2:3") + "unset multiplot\n");
}

std::string alpha_figure(const std::string& name, const CaseAnalysis& a) {
  PlotData steps("steps");
  for (std::size_t i = 0; i <= a.alphas.size(); ++i) {
    const AlphaPick& pick = a.alphas[std::min(i, a.alphas.size() - 1)];
    steps.line({i < a.alphas.size() ? pick.from : 1.0, a.plane[pick.point].x, a.plane[pick.point].y});
  }
  return draw_svg(
      name, 860, 420,
      steps.text() + labels("alpha (0: energy alone, 1: time alone)", performance_label) + "set y2label " +
          quoted_for_gnuplot(efficiency_label) +
          "\nset ytics nomirror\nset y2tics\nset xrange [0:1]\n"
          "plot $steps using 1:2 with steps lw 2 lc rgb '#4477aa' title 'performance', "
          "$steps using 1:3 axes x1y2 with steps lw 2 lc rgb '#cc3311' title 'efficiency (right)'\n");
}

std::string prediction_figure(const std::string& name, const CaseAnalysis& a) {
  PlotData energy("energy"), time("time");
  for (const Prediction& p : a.energy_predictions)
    energy.line({double(p.trained), 100 * p.median_error, 100 * p.high_error, 100 * p.mean_error});
  for (const Prediction& p : a.time_predictions) time.line({double(p.trained), 100 * p.median_error});
  return draw_svg(
      name, 860, 420,
      energy.text() + time.text() + labels("configs that were trained on", "error on the others [%]") +
          "set yrange [0:*]\n"
          "plot $energy using 1:2 with linespoints lc rgb '#cc3311' title 'energy, median', "
          "$energy using 1:3 with linespoints dt 2 lc rgb '#cc3311' title 'energy, 90th percentile', "
          "$energy using 1:4 with linespoints lc rgb '#888888' title 'energy, guessing the mean', "
          "$time using 1:2 with linespoints lc rgb '#4477aa' title 'time, median'\n");
}

}  // namespace tilewright::cli
