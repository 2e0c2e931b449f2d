// Which configs of a recorded screening are worth measuring again: long, at other sizes, or by a profiler.
#pragma once

#include "analyze/data.hpp"

namespace tilewright {

// The lines of a sweep's file. A last one that was being written is left out; throws Error(io) for any other
// that cannot be read. `argument` names the file.
std::vector<nlohmann::json> sweep_lines(const std::string& path, const char* argument);
// The points of the screening of `problem` that these files hold together, the rows of several cards joined
// as the analysis joins them. Throws what sweep_cases() throws, and Error(invalid_argument) naming the files
// where they hold none.
std::vector<SweepPoint> screened_points(const std::vector<std::string>& paths, const std::string& problem);

// Which configs the long measurements take, from points of a screening: the corners of the hull and the best
// in performance and efficiency in turn; those to be repeated are spread evenly over their performance.
struct LongChoice {
  std::vector<nlohmann::json> all, repeated;
};
LongChoice choose_long(const std::vector<SweepPoint>& points, std::size_t best, std::size_t repeated);
// `count` configs, or all where there are fewer: of the arc between the most efficient and the fastest, then
// at even ranks of performance.
std::vector<nlohmann::json> choose_sizes(const std::vector<SweepPoint>& points, std::size_t count);
// The same with all corners of the hull, even where those are more.
std::vector<nlohmann::json> choose_sample(const std::vector<SweepPoint>& points, std::size_t count);

}  // namespace tilewright
