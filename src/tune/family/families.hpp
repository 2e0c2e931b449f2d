// The families of this build, each defined in the file of its name.
#pragma once

#include "tune/family/family.hpp"

namespace tilewright {

const TuneFamily& gemm_small_cpu_family();
const TuneFamily& gemm_small_family();  // GPU
const TuneFamily& gemm_large_family();  // GPU
// Not searched among: asked for by name, for it tunes no kernel but what converting a batch costs.
const TuneFamily& layout_family();

}  // namespace tilewright
