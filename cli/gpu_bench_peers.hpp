// cuBLAS on the operands of a case, in each way that its interface can say it.
#pragma once

#include <functional>
#include <string>

#include "bench_cases.hpp"
#include "device/gpu/blas.hpp"
#include "gpu_case.hpp"

namespace tilewright::cli {

// Runs batch `index` as `name`, one of gpu_peer_names(), says. Library and operands must outlive it. Throws
// Error(unsupported) for a problem that the interface cannot say.
std::function<void(std::int64_t index)> gpu_peer(const std::string& name, GpuBlas& library,
                                                 const BenchCase& bench_case, GpuCase& operands);

}  // namespace tilewright::cli
