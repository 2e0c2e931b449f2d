// What fitted factors say of a config of large GEMM beyond the model of costs.
#pragma once

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

// By how much more it was seen to cost than gemm_large_cost predicts; 1 where nothing is known.
double gemm_large_correction(const GemmLargeConfig& config, const GemmLargeShape& shape,
                             const GemmLargeCorrections& factors);

}  // namespace tilewright
