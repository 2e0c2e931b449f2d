// The searches of Bernabe 2014, section 4, for the CPU's share by timing, and what they need beside the
// product itself: a C to write, a beginning, and a clock.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gemm/hybrid/split/split.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"

namespace tilewright {

// A guided search times from one share on, a step more at a time, until the time exceeds the best by a
// threshold. An exhaustive one times all shares.
struct SplitSearch {
  double begin = 0;         // the share that a guided search begins with
  double step = 0.02;       // of all columns (or rows)
  double threshold = 0.05;  // that a guided search ends beyond
  // Times the best, beyond which an exhaustive search tries no larger share: the CPU's part only grows.
  double hopeless = 4;
};
// From a little before the share that the models chose, in steps that a search can afford.
SplitSearch search_from(const Split& chosen);

struct SplitSearchResult {
  Split best;
  double best_s = 0;
  int tried = 0;
};

// `time` makes the product by a split and returns its seconds. `way` is guided or exhaustive; each cuts a
// share into tiles as choose_split does.
SplitSearchResult search_split(const NodeModel& node, SplitRequest request, SplitWay way,
                               const SplitSearch& search, const std::function<double(const Split&)>& time);

// Operands whose C is a copy, so that the caller's is written by no trial.
class ScratchC {
 public:
  // In memory that is pinned by the device; null: pageable.
  ScratchC(const GemmProblem& problem, const Operands& operands, StreamDevice* device);
  const Operands& operands() const { return operands_; }

 private:
  std::vector<std::max_align_t> pageable_;
  std::unique_ptr<PinnedMemory> pinned_;
  Operands operands_;
};

// Of few runs, behind one that warms up.
double seconds_of_best(const std::function<void()>& run);

}  // namespace tilewright
