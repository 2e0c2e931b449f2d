// Writes scripts for gnuplot with their data inside.
#include "report/analyze_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/child.hpp"
#include "people/refusal.hpp"
#include "tilewright/types.hpp"

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

// Runs gnuplot and removes the parts of its SVG that only a separate file may have.

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
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

std::string gnuplot_fault() {
  const ChildResult result = run_child({"gnuplot", "--version"});
  return result.status == 0 ? "" : "gnuplot was not found (Debian: gnuplot-nox)";
}

std::string draw_svg(const std::string& name, int width, int height, const std::string& script) {
  const std::string head = fmt::format(
      "set encoding utf8\nset terminal svg size {},{} dynamic name '{}' font 'sans-serif,12' background "
      "'#ffffff'\nset grid lc rgb '#dddddd'\nset key outside top center horizontal\n",
      width, height, name);
  const ChildResult result = run_child({"gnuplot"}, head + script);
  const std::size_t begin = result.output.find("<svg");
  if (result.status != 0 || begin == std::string::npos)
    io_fault(name, "gnuplot did not draw {}: {}", name,
             result.status == 127 ? gnuplot_fault() : result.errors);
  std::string svg = result.output.substr(begin);
  // Marks and filters have the same names in every drawing, so the names get a prefix.
  for (const char quote : {'"', '\''}) {
    replace_all(svg, fmt::format(" id={}", quote), fmt::format(" id={}{}-", quote, name));
    replace_all(svg, fmt::format("href={}#", quote), fmt::format("href={}#{}-", quote, name));
  }
  replace_all(svg, "url(#", fmt::format("url(#{}-", name));
  return svg;
}

std::string quoted_for_gnuplot(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '_' || c == '^' || c == '{' || c == '}' || c == '@' || c == '&') quoted += "\\\\";
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + '"';
}

// Formats elements as text.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

HtmlPage::HtmlPage(const std::string& title) : title_(title) { element("h1", title); }

void HtmlPage::element(const char* tag, const std::string& text, const char* kind) {
  const std::string attribute = *kind == '\0' ? "" : fmt::format(" class=\"{}\"", kind);
  body_ += fmt::format("<{}{}>{}</{}>\n", tag, attribute, escaped(text), tag);
}

void HtmlPage::heading(const std::string& text) { element("h2", text); }
void HtmlPage::subheading(const std::string& text) { element("h3", text); }
void HtmlPage::paragraph(const std::string& text) { element("p", text); }
void HtmlPage::missing(const std::string& text) { element("p", text, "missing"); }

void HtmlPage::list(const std::vector<std::string>& items) {
  body_ += "<ul>\n";
  for (const std::string& item : items) element("li", item);
  body_ += "</ul>\n";
}

void HtmlPage::table(const std::vector<std::string>& head,
                     const std::vector<std::vector<std::string>>& rows) {
  body_ += "<div class=\"table\"><table>\n<thead><tr>";
  for (const std::string& cell : head) body_ += fmt::format("<th>{}</th>", escaped(cell));
  body_ += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    body_ += "<tr>";
    for (const std::string& cell : row)
      body_ += fmt::format("<td{}>{}</td>",
                           cell.find(' ') < cell.size() && cell.size() > 20 ? " class=\"text\"" : "",
                           escaped(cell));
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void HtmlPage::figure(const std::string& svg, const std::string& caption) {
  body_ += fmt::format("<figure>\n{}\n<figcaption>{}</figcaption>\n</figure>\n", svg, escaped(caption));
}

std::string HtmlPage::text() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n<style>\n"
      "body {{ font-family: sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; line-height: "
      "1.45; }}\n"
      "table {{ border-collapse: collapse; font-size: 0.85em; }}\n"
      "th, td {{ border: 1px solid #cccccc; padding: 0.2em 0.5em; text-align: right; }}\n"
      "th {{ background: #f0f0f0; }}\ntd, li, p {{ overflow-wrap: anywhere; }}\n"
      "td.text {{ text-align: left; }}\n.table {{ overflow-x: auto; }}\n"
      "figure {{ margin: 1em 0; }}\nfigure svg {{ max-width: 100%; height: auto; }}\n"
      "figcaption {{ font-size: 0.9em; color: #333333; }}\n"
      ".missing {{ border-left: 4px solid #c08000; padding-left: 0.8em; }}\n"
      "</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escaped(title_), body_);
}

}  // namespace tilewright::cli
