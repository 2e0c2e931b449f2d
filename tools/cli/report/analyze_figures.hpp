// The drawings of the report: the figures of Anzt 2015 over the points of a sweep. Each is one <svg>; the
// report explains them.
#pragma once

#include <string>

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

}  // namespace tilewright::cli
