// Chooses the configs of a recorded screening that are worth measuring again: long, at other sizes, or by a
// profiler.
#pragma once

#include "analyze/data.hpp"

namespace tilewright {

// Returns the lines of a sweep's file. An incomplete last line is left out; throws Error(io) for any other
// line that cannot be read. `argument` names the file.
std::vector<nlohmann::json> sweep_lines(const std::string& path, const char* argument);
// Returns the points of the screening of `problem` in these files together, the rows of several cards joined
// as in the analysis. Throws the errors of sweep_cases(), and Error(invalid_argument) naming the files if
// they have no points.
std::vector<SweepPoint> screened_points(const std::vector<std::string>& paths, const std::string& problem);

// The configs for the long measurements, from points of a screening: alternately the corners of the hull and
// the best in performance and efficiency; those to be repeated are spread evenly over their performance.
struct LongChoice {
  std::vector<nlohmann::json> all, repeated;
};
LongChoice choose_long(const std::vector<SweepPoint>& points, std::size_t best, std::size_t repeated);
// Returns `count` configs, or all if there are fewer: of the arc between the most efficient and the fastest,
// then at even ranks of performance.
std::vector<nlohmann::json> choose_sizes(const std::vector<SweepPoint>& points, std::size_t count);
// The same with all corners of the hull, even if those are more.
std::vector<nlohmann::json> choose_sample(const std::vector<SweepPoint>& points, std::size_t count);

}  // namespace tilewright
