// Chooses the split of a product or batch of host operands by the models of the machine or by timing, for the
// hybrid candidate. Opens no device, and lists GPUs only for products that could gain from one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gemm/candidate.hpp"
#include "gemm/hybrid/split/shares.hpp"

namespace tilewright {

// Returns why CPU and GPUs cannot share this product; "" if they can.
std::string why_not_shared(const PlanRequest& request);

// The models and the split request of a shared product.
struct HybridModels {
  std::shared_ptr<const NodeModel> node;
  SplitRequest request;  // of pageable operands
};
// Throws Error(invalid_argument) naming gpus.
HybridModels hybrid_models(const PlanRequest& request);

// Chooses for operands that are all pinned or all pageable.
SplitChoice choose_split(const HybridModels& models, bool pinned);

// The searches of Bernabe 2014, section 4, for the CPU's share by timing. A guided one begins with a share
// and adds a step at a time until the time exceeds the best by a threshold; an exhaustive one times all
// shares.
struct SplitSearch {
  double begin = 0;         // the first share of a guided search
  double step = 0.02;       // of all columns (or rows)
  double threshold = 0.05;  // ends a guided search
  // An exhaustive search ends at so many times the best time: the CPU's part only grows.
  double hopeless = 4;
};
// Begins a little before the share that the models chose.
SplitSearch search_from(const Split& chosen);

struct SplitSearchResult {
  Split best;
  double best_s = 0;
  int tried = 0;
};

// `time` runs the product by a split and returns its seconds. `rule` is guided or exhaustive.
SplitSearchResult search_split(const NodeModel& node, SplitRequest request, SplitRule rule,
                               const SplitSearch& search, const std::function<double(const Split&)>& time);

}  // namespace tilewright
