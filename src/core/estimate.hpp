// A robust summary of repeated measurements: the median and its 95 % confidence interval by order statistics.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright {

struct Estimate {
  double centre = 0;  // median
  double low = 0;     // 95 % interval of the median; the extremes if there are fewer than six samples
  double high = 0;
  std::int64_t samples = 0;
};

// Throws Error(invalid_argument) if `samples` is empty.
Estimate estimate(std::vector<double> samples);

// Returns 0 for an empty list.
double median(std::vector<double> values);

// Returns the 1-based rank r such that the r-th smallest and r-th largest of `count` samples enclose the
// median with at least 95 % probability; 1 if no rank does.
std::int64_t median_interval_rank(std::int64_t count);

// Returns the geometric mean; 0 for an empty list. Throws Error(invalid_argument) if a value is not positive.
double geometric_mean(const std::vector<double>& values);

}  // namespace tilewright
