// The ways to compute a multiplication, each of which stands in the file of its name in this folder, in
// cpu_small/ or in sums/. Their order is candidates.cpp's.
#pragma once

#include "gemm/candidate.hpp"

namespace tilewright {

extern const GemmCandidate scale_way, small_cpu_way, bands_way, small_way, large_way, cublas_way, hybrid_way,
    cblas_way, sums_way, reference_way;

// scale, where the operands lie on a GPU.
std::string device_scale_declines(const PlanRequest& request);
GemmOffers device_scale_offers(const PlanRequest& request);

// gemm_small_cpu, where products are summed into one C, by kernels of a config of the problem's space.
std::shared_ptr<const Runner> small_sums_runner(const PlanRequest& request, const GemmSmallCpuConfig& config);

}  // namespace tilewright
