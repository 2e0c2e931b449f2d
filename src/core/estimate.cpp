// Computes medians with order-statistic intervals, and geometric means.
#include "core/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tilewright/types.hpp"

namespace tilewright {

std::int64_t median_interval_rank(std::int64_t count) {
  // P(the median lies outside the r-th extremes) = 2 * P(Binomial(count, 1/2) < r) must stay below 5 %.
  double term = std::pow(0.5, static_cast<double>(count));
  double below = 0;
  std::int64_t rank = 1;
  for (std::int64_t i = 0; 2 * i < count; ++i) {
    below += term;
    if (2 * below > 0.05) break;
    rank = i + 1;
    term *= static_cast<double>(count - i) / static_cast<double>(i + 1);
  }
  return rank;
}

Estimate estimate(std::vector<double> samples) {
  if (samples.empty())
    throw Error(ErrorCode::invalid_argument, "samples", "samples = 0: an estimate needs at least one sample");
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<std::int64_t>(samples.size());
  const auto at = [&](std::int64_t i) { return samples[static_cast<std::size_t>(i)]; };
  Estimate result;
  result.centre = count % 2 ? at(count / 2) : 0.5 * (at(count / 2 - 1) + at(count / 2));
  const std::int64_t rank = median_interval_rank(count);
  result.low = at(rank - 1);
  result.high = at(count - rank);
  result.samples = count;
  return result;
}

double median(std::vector<double> values) { return values.empty() ? 0 : estimate(std::move(values)).centre; }

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) {
    if (!(value > 0))
      throw Error(ErrorCode::invalid_argument, "values",
                  fmt::format("values holds {}: a geometric mean needs positive values", value));
    sum += std::log(value);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace tilewright
