// The vendor's library as one that is checked and timed like a kernel of ours, so that wisdom knows what both
// took in the same rounds.
#pragma once

#include <memory>
#include <string>

#include "tune/gpu/kernels.hpp"

namespace tilewright {

inline constexpr const char* gpu_vendor_family = "cublas";

struct GpuVendor {
  std::unique_ptr<GpuTrial> trial;  // null where there is none
  std::string version;
  std::string absence;  // why there is none

  nlohmann::json config() const { return {{"version", version}}; }
};

// For a problem as it is timed. Throws nothing for a library that is not there or cannot say the problem.
GpuVendor open_gpu_vendor(const Gpu& gpu, const GemmProblem& problem);

}  // namespace tilewright
