// The report of `analyze` and its drawings: the figures of Anzt 2015 over the points of a sweep. Each is one
// <svg>. gnuplot draws them, and others by scripts, so that several can be embedded in one
// HTML page.
#pragma once

#include <string>
#include <vector>

#include "analyze/case.hpp"

namespace tilewright::cli {

// Draws efficiency against performance with the hull (Fig. 5), the winners and the sentinel.
std::string hull_figure(const std::string& name, const CaseAnalysis& analysis);
// Draws performance or efficiency against n (Fig. 4).
std::string size_figure(const std::string& name, const std::vector<SizeSeries>& series, bool efficiency);
// Draws correlation coefficients as bars, the most negative first (Figs. 6 to 8).
std::string correlation_figure(const std::string& name, const std::vector<Correlation>& correlations,
                               double Correlation::*coefficient);
// Draws a metric against performance, against efficiency, and both with the classes' colours (a row of Fig.
// 9).
std::string class_figure(const std::string& name, const CaseAnalysis& analysis, const MetricClass& metric);
// Draws performance and efficiency of the configs that alpha picks.
std::string alpha_figure(const std::string& name, const CaseAnalysis& analysis);
// Draws the median error over the number of configs in the training.
std::string prediction_figure(const std::string& name, const CaseAnalysis& analysis);

// Returns the reason why gnuplot cannot be used; "" if it can.
std::string gnuplot_fault();

// Returns the <svg> element that `script` (without terminal and output) draws; `name` distinguishes its parts
// from those of other drawings on the page. Throws Error(io) with gnuplot's complaint.
std::string draw_svg(const std::string& name, int width, int height, const std::string& script);

// Quotes a text for a script.
std::string quoted_for_gnuplot(const std::string& text);

// One self-contained HTML page of sections, paragraphs, tables and drawings: no script, no other file. Texts
// are escaped here and nowhere else.
std::string escaped(const std::string& text);

class HtmlPage {
 public:
  explicit HtmlPage(const std::string& title);

  void heading(const std::string& text);
  void subheading(const std::string& text);
  void paragraph(const std::string& text);
  // Adds a note on missing data and the reason, set apart from the findings.
  void missing(const std::string& text);
  void list(const std::vector<std::string>& items);
  void table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows);
  // `svg` is inserted unchanged.
  void figure(const std::string& svg, const std::string& caption);
  std::string text() const;

 private:
  void element(const char* tag, const std::string& text, const char* kind = "");
  std::string body_;
  std::string title_;
};

// The report of `analyze`: one page that describes for each problem the measurements and their method, draws
// the figures, lists the hull's configs and names missing data. Every number in its sentences comes from the
// analysis. The page names `files`; other sizes are searched for among the problems in `all`; throws
// Error(unsupported) without gnuplot.
std::string analysis_page(const std::vector<CaseAnalysis>& analyses, const std::vector<SweepCase>& all,
                          const std::vector<std::string>& files);

}  // namespace tilewright::cli
