// How one product of operands in host memory is shared out among the CPU and the GPUs: a pure function of
// what is known of the machine (Bernabe 2014, sections 3 and 5), and the paper's searches by timing. It asks
// no device and moves nothing; stream.hpp does what it says.
#pragma once

#include <functional>
#include <vector>

#include "gemm/hybrid/split/shares.hpp"

namespace tilewright {

// Throws Error(out_of_memory) naming the cap where not even one tile fits and the host may not be used, and
// Error(invalid_argument) for a share beyond 0 to 1.
SplitChoice choose_split(const NodeModel& node, const SplitRequest& request);

// SplitWay has the ways of choosing the CPU's share (section 4 of the paper). A guided search times from one
// share on, a step more at a time, until the time exceeds the best by a threshold.
struct SplitSearch {
  double begin = 0;         // the share that a guided search begins with: the best one of a smaller problem
  double step = 0.02;       // of all columns (or rows)
  double threshold = 0.05;  // that a guided search ends beyond
  // Times the best, beyond which an exhaustive search tries no larger share: the CPU's part only grows.
  double hopeless = 4;
};

struct TimedSplit {
  double cpu_share = 0, seconds = 0;
  Split split;
};

struct SplitSearchResult {
  TimedSplit best;
  std::vector<TimedSplit> tried;  // in the order of timing
};

// `time` makes the product by a split and tells its seconds. `fixed` wants request.cpu_share; each way cuts a
// share into tiles as choose_split does.
SplitSearchResult search_split(const NodeModel& node, SplitRequest request, SplitWay way,
                               const SplitSearch& search, const std::function<double(const Split&)>& time);

}  // namespace tilewright
