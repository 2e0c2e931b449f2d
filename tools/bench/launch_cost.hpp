// Measures the host's cost of a launch: for a batch of small problems through a prepared plan, through the
// API, from a captured graph, and by the driver's call alone; for a large product through a plan that cuBLAS
// serves, and by cuBLAS's own function. Each group is interleaved.
#pragma once

#include <string>
#include <vector>

#include "measure/estimate.hpp"

namespace tilewright::bench {

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

// Builds without GPU sources measure none, and report that.
GpuLaunchCosts measure_gpu_launches(int repetitions);

}  // namespace tilewright::bench
