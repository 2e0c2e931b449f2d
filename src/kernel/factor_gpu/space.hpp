// The configs that a shape allows on a device.
#pragma once

#include <algorithm>

#include "kernel/factor_gpu/cost.hpp"
#include "kernel/factor_gpu/loader.hpp"
#include "kernel/space.hpp"

namespace tilewright {

Space<FactorGpuConfig> factor_gpu_space(const FactorGpuShape& shape, DType dtype, const GpuLimits& limits);

}  // namespace tilewright
