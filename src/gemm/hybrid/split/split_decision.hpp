// Which of the ways to share a product out is taken, once each has been predicted: the fastest, or the
// simpler one where the models cannot tell. What the ways are is split.cpp's, and for batches
// batch/split.cpp's.
#pragma once

#include <optional>

#include "gemm/hybrid/split/prediction.hpp"

namespace tilewright {

struct PlannedSplit {
  Split split;
  SplitPrediction prediction;
  double seconds() const { return prediction.seconds; }
};

// Ways that cannot serve have no value.
struct PlannedWays {
  std::optional<PlannedSplit> host, one_gpu, all_gpus;
  std::optional<PlannedSplit> shared;  // by CPU and GPUs, as the models say
  std::optional<PlannedSplit> fixed;   // likewise, with the share that was asked for
  bool gpus_hopeless = false;          // not planned: the CPU is done before they could be
  const std::optional<PlannedSplit>& gpus() const;
};

// Of y, which is more than x asks for: only where that brings enough.
const std::optional<PlannedSplit>& faster(const std::optional<PlannedSplit>& x,
                                          const std::optional<PlannedSplit>& y);
// What a part for the CPU has to bring beside GPUs.
extern const double least_gain_together;

// The fewest threads that copy about as fast as any number does; half of all where the CPU multiplies.
int copy_threads(const HostModel& host, bool multiplies);

// Throws Error(invalid_argument) naming what is wrong with the share or the processors that were asked for.
void check_split_request(const SplitRequest& request);

// Throws Error(out_of_memory) where nothing can serve.
SplitChoice decide_split(const NodeModel& node, const SplitRequest& request, const PlannedWays& ways);

}  // namespace tilewright
