// Dongarra 2017, Fig. 3: what getting memory for a batch costs, with one block for every matrix against one
// for each operand; on a GPU also what moving the batch there and C back costs, a copy for every block. Rows
// and tables are transfer.cpp's.
#pragma once

#include <string>
#include <vector>

#include "bench/case.hpp"
#include "core/json.hpp"
#include "measure/estimate.hpp"

namespace tilewright::bench {

struct TransferBatch {
  std::int64_t count = 0;
  std::int64_t bytes[3] = {};  // of one A, one B, one C
};

struct TransferStage {
  std::string name;  // allocate, to_device_a, to_device_b, to_device_c, to_host_c, release
  double bytes = 0;  // 0 where nothing moves
  Estimate seconds{};
};

struct TransferWay {
  std::string impl;                     // one_block_per_matrix, one_block; on the host tilewright as well
  std::string memory;                   // of the host: pageable or pinned
  Estimate seconds;                     // of all stages
  std::vector<TransferStage> stages{};  // on a GPU
};

struct TransferResult {
  TransferBatch batch;  // as measured: fewer problems where the time is bounded
  std::vector<TransferWay> ways;
  nlohmann::json provenance = nlohmann::json::object();
};

// Throws Error(unsupported) where there is no GPU or no runtime for one in this build,
// Error(invalid_argument) for a device that does not exist.
void check_gpu_transfer(const Plan& plan);

// Measures both ways with every memory of the plan, in turn within each repetition. On the host each operand
// lies in one piece either way. The time of a case is bounded by measuring a smaller batch: both ways then
// have it. Throws what check_gpu_transfer() throws, Error(out_of_memory) where the batch does not fit,
// Error(internal) when C comes back changed.
TransferResult measure_gpu_transfer(const Plan& plan, const TransferBatch& batch);

}  // namespace tilewright::bench
