// The options of products of host operands on GPUs: which are wrong, and which say that GPUs have to take
// part. models.hpp knows what the models say.
#pragma once

#include "gemm/candidate.hpp"

namespace tilewright {

// Operands in host memory for which GPUs were asked for, by target or by a split of the caller's own.
bool wants_gpus(const PlanRequest& request);

// Throws Error(invalid_argument) naming gpus: a negative one, or one twice.
void check_gpus(const std::vector<int>& gpus);
// Throws Error(invalid_argument) naming gpus, gpu_memory_bytes, split or cpu_share.
void check_hybrid_options(const GemmOptions& options);

}  // namespace tilewright
