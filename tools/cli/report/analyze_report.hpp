// The report of `analyze`: one HTML page that says of each problem what was measured and how, draws the
// figures of Anzt 2015, lists the hull's configs and names what is missing. Every number in its sentences
// comes from the analysis.
#pragma once

#include <string>
#include <vector>

#include "analyze/case.hpp"

namespace tilewright::cli {

// `files` are named in the page, `all` are the problems among which other sizes are looked for; without
// gnuplot this throws Error(unsupported).
std::string analysis_page(const std::vector<CaseAnalysis>& analyses, const std::vector<SweepCase>& all,
                          const std::vector<std::string>& files);

}  // namespace tilewright::cli
