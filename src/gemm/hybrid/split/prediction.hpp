// Predicts the seconds of a split by the models of the node: the steps of every share on a timeline beside
// the CPU's.
#pragma once

#include "gemm/hybrid/split/schedule.hpp"
#include "gemm/hybrid/split/timeline.hpp"

namespace tilewright {

// The cost of one operation of a lane by itself.
struct StepCost {
  double start_s = 0, seconds = 0;
};
// Between the host and a GPU. `gaps`: the columns do not follow one another.
StepCost copy_cost(const GpuModel& gpu, Lane lane, const BlockShape& shape, bool gaps);
StepCost peer_copy_cost(const GpuModel& gpu, double bytes);
StepCost product_cost(const GpuModel& gpu, const GemmProblem& problem);
StepCost add_cost(const GpuModel& gpu, DType dtype, std::int64_t elements);

SplitPrediction predict(const NodeModel& node, const SplitRequest& request, const Split& split);

// The bytes that threads copy into and out of pinned buffers for so many problems of a batch.
double staged_bytes(const StreamShape& shape, const SplitRequest& request, double problems);

}  // namespace tilewright
