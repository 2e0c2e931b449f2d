// The report of `analyze`: one HTML page that describes for each problem the measurements and their method,
// draws the figures of Anzt 2015, lists the hull's configs and names missing data. Every number in its
// sentences comes from the analysis.
#pragma once

#include <string>
#include <vector>

#include "analyze/case.hpp"

namespace tilewright::cli {

// The page names `files`; other sizes are searched for among the problems in `all`; throws Error(unsupported)
// without gnuplot.
std::string analysis_page(const std::vector<CaseAnalysis>& analyses, const std::vector<SweepCase>& all,
                          const std::vector<std::string>& files);

}  // namespace tilewright::cli
