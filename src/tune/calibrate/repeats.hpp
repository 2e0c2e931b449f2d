// Repeated timings of one experiment as one point of a fit: their median, and what was thrown away before it
// was taken. A timing that met another program is rejected and counted, never averaged in; a point whose
// timings disagree is no point. Measuring them is the caller's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

struct RepeatRules {
  double rejected_sds = 5;      // above the median by more of the robust standard deviation than this ...
  double rejected_share = 0.1;  // ... and by more of the median than this: contaminated
  double most_spread = 0.2;     // of what is kept, relative
  double most_rejected = 0.4;   // of all timings
  int most_rounds = 3;          // of measuring, where they disagree
};

struct TimedPoint {
  double seconds = 0;        // median of what is kept
  double spread = 0;         // its robust standard deviation, relative
  double low = 0, high = 0;  // of the median, with 95 % confidence
  std::int64_t samples = 0, rejected = 0;
  std::string fault;         // why it cannot be fitted to; "" where it can
  bool over_budget = false;  // which is that the budget was too small
};

// Throws Error(invalid_argument) where there are no timings or one is not positive.
TimedPoint point_of(const std::vector<double>& seconds, const RepeatRules& rules = {});

}  // namespace tilewright
