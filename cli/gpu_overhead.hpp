// What a launch costs the host: through a prepared plan, through the API, from a captured graph, and the
// driver's call alone, interleaved.
#pragma once

#include <string>
#include <vector>

#include "measure/estimate.hpp"

namespace tilewright::cli {

struct GpuLaunchCost {
  std::string impl;  // tilewright or cuda_driver
  std::string
      what;  // gpu_plan_launch, gpu_api_launch, gpu_graph_launch, gpu_bare_launch, gpu_launch_overhead
  Estimate seconds;
};

struct GpuLaunchCosts {
  std::string device, problem;
  std::string why_none;  // not empty where there is no GPU
  std::vector<GpuLaunchCost> costs;
};

GpuLaunchCosts measure_gpu_launches(int repetitions);

}  // namespace tilewright::cli
