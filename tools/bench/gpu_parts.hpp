// Families of bench measure these on GPUs: peers that multiply or factor host operands there, transfers, and
// launches. Builds without GPU sources have none of it, and report that.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "core/estimate.hpp"
#include "core/json.hpp"
#include "core/problem.hpp"
#include "tilewright/lu.hpp"

namespace tilewright::bench {

// The peers of bench hybrid and bench lu: libraries that multiply or factor host operands, with the copies
// both ways.
template <class Problem, class Run>
struct GpuPeers {
  struct Peer {
    std::string impl, version, variant;
    std::function<Run> run;
  };
  std::string gpu;  // the name of the first GPU that they run on
  // Returns the peers that support the problem; adds a line for each other one with the reason.
  std::function<std::vector<Peer>(const Problem& problem, std::vector<std::string>& absent)> of;

  explicit operator bool() const { return of != nullptr; }
};
using HybridPeers = GpuPeers<GemmProblem, void(const Operands&)>;
// Factors a matrix in host memory and returns info; pivots are like lu_factor's.
using LuPeers = GpuPeers<LuProblem, std::int64_t(void* a, std::int64_t* pivots)>;

// Return none, with the reason, if there are no peers. The former run on these GPUs, the latter on the first
// of them; all GPUs are meant if none is named.
HybridPeers hybrid_peers(const std::vector<int>& gpus, std::string& why_none);
LuPeers lu_peers(const std::vector<int>& gpus, std::string& why_none);

// Dongarra 2017, Fig. 3: measures the cost of memory for a batch, with one block for every matrix against one
// for each operand; on a GPU also the cost of moving the batch there and C back, a copy for every block.
// transfer.cpp writes rows and tables.
struct TransferBatch {
  std::int64_t count = 0;
  std::int64_t bytes[3] = {};  // sizes of one A, one B, one C
};

struct TransferStage {
  std::string name;  // allocate, to_device_a, to_device_b, to_device_c, to_host_c, release
  double bytes = 0;  // 0 if nothing moves
  Estimate seconds{};
};

struct TransferMethod {
  std::string impl;                     // one_block_per_matrix, one_block; on the host tilewright as well
  std::string memory;                   // on the host: pageable or pinned
  Estimate seconds;                     // time of all stages
  std::vector<TransferStage> stages{};  // on a GPU
};

struct TransferResult {
  TransferBatch batch;  // as measured: fewer problems if the time is bounded
  std::vector<TransferMethod> ways;
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

// Measures the host's cost of a launch: for a batch of small problems through a prepared plan, through the
// API, from a captured graph, and by the driver's call alone; for a large product through a plan that cuBLAS
// serves, and by cuBLAS's own function. Each group is interleaved.
struct GpuLaunchCost {
  std::string impl;  // tilewright, cuda_driver or cublas
  // gpu_plan_launch, gpu_api_launch, gpu_graph_launch, gpu_bare_launch, gpu_launch_overhead; gemm_plan_call,
  // gemm_direct_call, gemm_dispatch_overhead
  std::string what;
  std::string problem;
  Estimate seconds;  // an overhead is the median of differences within rounds
};

struct GpuLaunchCosts {
  std::string device;
  std::string why_none;     // not empty if there is no GPU
  std::string why_no_blas;  // not empty if there is no cuBLAS to compare with
  std::vector<GpuLaunchCost> costs;
};

GpuLaunchCosts measure_gpu_launches(int repetitions);

}  // namespace tilewright::bench
