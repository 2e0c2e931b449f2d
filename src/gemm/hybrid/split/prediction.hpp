// How long a split takes, by the models of the node: the steps of every share on a timeline, and the CPU's
// part beside them. It decides nothing; split.hpp compares what it says.
#pragma once

#include <vector>

#include "gemm/hybrid/split/schedule.hpp"
#include "gemm/hybrid/split/timeline.hpp"

namespace tilewright {

// What one operation of a lane costs by itself.
struct StepCost {
  double start_s = 0, seconds = 0;
};
// A copy of so many columns between the host and a GPU. `gaps`: the columns do not follow one another.
StepCost copy_cost(const GpuModel& gpu, Lane lane, const BlockShape& shape, bool gaps);
StepCost peer_copy_cost(const GpuModel& gpu, double bytes);
StepCost product_cost(const GpuModel& gpu, const GemmProblem& problem);
StepCost add_cost(const GpuModel& gpu, DType dtype, std::int64_t elements);

// The shares, by number, whose GPUs have blocks of the resident operand from one another; empty: none.
std::vector<int> peers_of(const NodeModel& node, const StreamShape& shape, const Split& split);

struct SplitPrediction {
  double seconds = 0, host_s = 0;
  double gpu_s = 0;         // of the slowest GPU
  double transfer_s = 0;    // of the busiest direction of a link, at its own rate
  double compute_s = 0;     // of the products of one GPU
  double copied_bytes = 0;  // between the host's memory and GPUs
};

// The CPU's part by itself, with `threads` of the model's.
double host_seconds(const NodeModel& node, const GemmProblem& part, int threads);

SplitPrediction predict(const NodeModel& node, const SplitRequest& request, const Split& split);

// Until CPU and GPUs are at work beyond what each of them needs: products of n = 256 to 4096 and small k
// (results/h100/hybrid-20261126-choice.jsonl.gz).
inline constexpr double both_begin_s = 300e-6;

// The same of a batch, by the bytes that have to move and the operations.
SplitPrediction predict_batch(const NodeModel& node, const SplitRequest& request, const Split& split);
// The bytes that threads copy into and out of pinned buffers for so many problems of a batch.
double staged_bytes(const StreamShape& shape, const SplitRequest& request, double problems);

}  // namespace tilewright
