// The median, the median of the distances from it, and what lies too far above both.
#include "tune/calibrate/repeats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/estimate.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

// Of a normal distribution, by the median of the distances from the median.
double robust_sd(const std::vector<double>& values, double centre) {
  constexpr double sd_of_distance = 1.4826;
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - centre));
  return sd_of_distance * median(std::move(distances));
}

}  // namespace

TimedPoint point_of(const std::vector<double>& seconds, const RepeatRules& rules) {
  for (const double one : seconds)
    if (!(one > 0))
      throw Error(ErrorCode::invalid_argument, "seconds", fmt::format("seconds holds {}: no time", one));
  const double centre = estimate(seconds).centre;
  // Other programs only ever make a timing longer, so nothing is rejected below the median.
  const double most =
      centre + std::max(rules.rejected_sds * robust_sd(seconds, centre), rules.rejected_share * centre);
  std::vector<double> kept;
  for (const double one : seconds)
    if (one <= most) kept.push_back(one);

  TimedPoint point;
  const Estimate found = estimate(kept);
  point.seconds = found.centre, point.low = found.low, point.high = found.high;
  point.spread = robust_sd(kept, point.seconds) / point.seconds;
  point.samples = std::int64_t(kept.size());
  point.rejected = std::int64_t(seconds.size() - kept.size());
  if (point.spread > rules.most_spread)
    point.fault = fmt::format("its {} timings disagree by {:.0f} %", seconds.size(), 100 * point.spread);
  else if (double(point.rejected) > rules.most_rejected * double(seconds.size()))
    point.fault = fmt::format("{} of its {} timings were disturbed", point.rejected, seconds.size());
  return point;
}

}  // namespace tilewright
