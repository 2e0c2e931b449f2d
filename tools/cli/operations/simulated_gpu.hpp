// The flag --simulated-gpu of the families of bench that CPU and GPUs share.
#pragma once

#include <vector>

#include "bench/simulated_gpu.hpp"
#include "bench_flags.hpp"

namespace tilewright::cli {

constexpr const char* simulated_gpu_flag = "--simulated-gpu";
constexpr const char* simulated_gpu_help =
    "hybrid, lu: simulate a GPU in place of those of the machine: GFLOP/s of f64 products and GB/s of its "
    "link "
    "in each direction, as in 250,6. The host waits as long as it would take";

// Reads the flag, and refuses what it excludes: pageable memory and `gpus`, those that --gpus names. Without
// --memory the plan's memory becomes pinned.
bench::SimulatedGpu read_simulated_gpu(const FamilyFlags& flags, const std::vector<int>& gpus,
                                       bench::Plan& plan);

}  // namespace tilewright::cli
