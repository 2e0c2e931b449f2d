// Dongarra 2017, Fig. 3, on a GPU: what allocating a batch there, moving it in, moving C back and releasing
// it cost, with an allocation and a copy for every matrix against one of each per operand. On the host each
// operand lies in one piece either way.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench_cases.hpp"
#include "measure/estimate.hpp"

namespace tilewright::cli {

struct TransferBatch {
  std::int64_t count = 0;
  std::int64_t bytes[3] = {};  // of one A, one B, one C
};

struct TransferStage {
  std::string name;  // allocate, to_device_a, to_device_b, to_device_c, to_host_c, release
  double bytes = 0;  // 0 where nothing moves
  Estimate seconds;
};

struct GpuTransferWay {
  std::string impl;    // one_block_per_matrix or one_block
  std::string memory;  // of the host: pageable or pinned
  Estimate seconds;    // of all stages
  std::vector<TransferStage> stages;
};

struct GpuTransferResult {
  TransferBatch batch;  // as measured: fewer problems where the time is bounded
  std::vector<GpuTransferWay> ways;
  nlohmann::json provenance;
};

// Throws Error(unsupported) where there is no GPU or no runtime for one in this build,
// Error(invalid_argument) for a device that does not exist.
void check_gpu_transfer(const BenchPlan& plan);

// Measures both ways with every memory of the plan, in turn within each repetition. The time of a case is
// bounded by measuring a smaller batch: both ways then have it. Throws what check_gpu_transfer()
// throws, Error(out_of_memory) where the batch does not fit, JobFailed when C comes back changed.
GpuTransferResult measure_gpu_transfer(const BenchPlan& plan, const TransferBatch& batch);

}  // namespace tilewright::cli
