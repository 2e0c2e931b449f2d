// Checks the options of products of host operands on GPUs, without a machine.
#pragma once

#include "gemm/candidate.hpp"

namespace tilewright {

// True for operands in host memory if target or split demands GPUs.
bool wants_gpus(const PlanRequest& request);

// Throws Error(invalid_argument) naming gpus: a negative one, or one twice.
void check_gpus(const std::vector<int>& gpus);
// Throws Error(invalid_argument) naming gpus, gpu_memory_bytes, split or cpu_share.
void check_hybrid_options(const GemmOptions& options);

}  // namespace tilewright
