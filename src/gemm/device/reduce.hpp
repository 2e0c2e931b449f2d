// Runners of plans that sum the products of a batch in device memory into one C.
#pragma once

#include <memory>

#include "gemm/candidate.hpp"
#include "kernel/gemm_small/config.hpp"

namespace tilewright {

class GpuMachine;

// By a kernel of this config, which is one of the problem's space, and one that adds up its parts.
std::shared_ptr<const Runner> device_reduce_runner(const PlanRequest& request,
                                                   const std::shared_ptr<const GpuMachine>& machine,
                                                   const GemmSmallConfig& config);

}  // namespace tilewright
