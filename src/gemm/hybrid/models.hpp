// What the models of the machine say of a product or batch of host operands, for the hybrid candidate. It
// opens no device; whether there are GPUs is asked only of products that one could pay for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gemm/candidate.hpp"
#include "gemm/hybrid/split/split.hpp"

namespace tilewright {

// Why CPU and GPUs do not share this product; "" where they may.
std::string why_not_shared(const PlanRequest& request);

// Of a request that may be shared.
struct HybridModels {
  std::shared_ptr<const NodeModel> node;
  SplitRequest request;  // of pageable operands
};
// Throws Error(invalid_argument) naming gpus.
HybridModels hybrid_models(const PlanRequest& request);

// By these models, with operands that are all pinned or all pageable.
SplitChoice choose_split(const HybridModels& models, bool pinned);

}  // namespace tilewright
