// The runner of sums of small products into one C by kernels, which gemm_small_cpu offers.
#pragma once

#include "gemm/candidate.hpp"

namespace tilewright {

// The config is one of the problem's space.
std::shared_ptr<const Runner> small_sums_runner(const PlanRequest& request, const GemmSmallCpuConfig& config);

}  // namespace tilewright
