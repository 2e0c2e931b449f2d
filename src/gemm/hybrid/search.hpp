// What a search for the CPU's share by timing needs beside the product itself: a C to write, where it begins,
// and a clock. The search is hybrid/split.hpp's.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gemm/hybrid/split/split.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"

namespace tilewright {

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

// A little before the share that the models chose, in steps that a search can afford.
SplitSearch search_from(const Split& chosen);

}  // namespace tilewright
