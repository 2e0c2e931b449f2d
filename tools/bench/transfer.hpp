// Dongarra 2017, Fig. 3: measures the cost of memory for a batch, with one block for every matrix against one
// for each operand; on a GPU also the cost of moving the batch there and C back, a copy for every block.
// transfer.cpp writes rows and tables.
#pragma once

#include <string>
#include <vector>

#include "bench/case.hpp"
#include "core/json.hpp"
#include "measure/estimate.hpp"

namespace tilewright::bench {

struct TransferBatch {
  std::int64_t count = 0;
  std::int64_t bytes[3] = {};  // sizes of one A, one B, one C
};

struct TransferStage {
  std::string name;  // allocate, to_device_a, to_device_b, to_device_c, to_host_c, release
  double bytes = 0;  // 0 if nothing moves
  Estimate seconds{};
};

struct TransferWay {
  std::string impl;                     // one_block_per_matrix, one_block; on the host tilewright as well
  std::string memory;                   // on the host: pageable or pinned
  Estimate seconds;                     // time of all stages
  std::vector<TransferStage> stages{};  // on a GPU
};

struct TransferResult {
  TransferBatch batch;  // as measured: fewer problems if the time is bounded
  std::vector<TransferWay> ways;
  nlohmann::json provenance = nlohmann::json::object();
};

// Throws Error(unsupported) if there is no GPU or no runtime for one in this build, Error(invalid_argument)
// for a device that does not exist.
void check_gpu_transfer(const Plan& plan);

// Measures both methods with every memory of the plan, in alternation within each repetition. On the host
// each operand is one block in both methods. To bound the time of a case, both methods measure the same
// smaller batch. Throws the errors of check_gpu_transfer(), Error(out_of_memory) if the batch does not fit,
// Error(internal) if C comes back changed.
TransferResult measure_gpu_transfer(const Plan& plan, const TransferBatch& batch);

}  // namespace tilewright::bench
