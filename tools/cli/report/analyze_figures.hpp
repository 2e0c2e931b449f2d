// The drawings of the report: the figures of Anzt 2015 over the points of a sweep. Each is one <svg>; what
// they mean is said in the report.
#pragma once

#include <string>

#include "analyze/case.hpp"

namespace tilewright::cli {

// Efficiency against performance with the hull (Fig. 5), the winners and the sentinel.
std::string hull_figure(const std::string& name, const CaseAnalysis& analysis);
// Performance or efficiency against n (Fig. 4).
std::string size_figure(const std::string& name, const std::vector<SizeSeries>& series, bool efficiency);
// Correlation coefficients as bars, the most negative first (Figs. 6 to 8).
std::string correlation_figure(const std::string& name, const std::vector<Correlation>& correlations,
                               double Correlation::*coefficient);
// A metric against performance, against efficiency, and both with the classes' colours (a row of Fig. 9).
std::string class_figure(const std::string& name, const CaseAnalysis& analysis, const MetricClass& metric);
// Performance and efficiency of what alpha picks.
std::string alpha_figure(const std::string& name, const CaseAnalysis& analysis);
// The median error over the configs that were trained on.
std::string prediction_figure(const std::string& name, const CaseAnalysis& analysis);

}  // namespace tilewright::cli
