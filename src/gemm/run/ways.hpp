// The ways to compute a multiplication, each of which stands in the file of its name in this folder. Their
// order is candidates.cpp's.
#pragma once

#include "gemm/candidate.hpp"

namespace tilewright {

extern const GemmCandidate scale_way, small_cpu_way, bands_way, small_way, large_way, cublas_way, hybrid_way,
    cblas_way, sums_way, reference_way;

// scale, where the operands lie on a GPU.
std::string device_scale_declines(const PlanRequest& request);
GemmOffers device_scale_offers(const PlanRequest& request);

}  // namespace tilewright
