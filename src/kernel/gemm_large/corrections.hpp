// Fitted correction factors for configs of large GEMM, beyond the cost model.
#pragma once

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

// Returns the observed cost of the config relative to gemm_large_cost; 1 if nothing is known.
double gemm_large_correction(const GemmLargeConfig& config, const GemmLargeShape& shape,
                             const GemmLargeCorrections& factors);

}  // namespace tilewright
