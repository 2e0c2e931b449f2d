// Names of generated code for profilers: perf reads /tmp/perf-PID.map, where each line is a start, a size
// (both hexadecimal) and a name (Linux, tools/perf/Documentation/jit-interface.txt).
#pragma once

#include <memory>

#include "kernel/gemm_small_cpu/kernel.hpp"

namespace tilewright {

// Calls make_gemm_small_cpu and, if TILEWRIGHT_PERF_MAP = 1, adds a line to this process's map; a file that
// cannot be written is no error. Kernels that are gone at once stay without names, since others take their
// places.
std::shared_ptr<const GemmSmallCpuKernel> make_named_kernel(const GemmProblem& problem,
                                                            const GemmSmallCpuConfig& config);

}  // namespace tilewright
