// Batches on the GPU that arrays describe, as benches run them: one group of equal problems, and the sizes of
// every problem in device memory. Their operands are those of a pointer batch.
#pragma once

#include <functional>

#include "bench_cases.hpp"
#include "device/gpu/gpu.hpp"

namespace tilewright::cli {

// The problem that plans of the case are made for: of a variable batch the largest sizes, else the case's
// own.
GemmProblem planned_problem(const BenchCase& bench_case);

// gemm_grouped() or gemm_variable(), as the case's layout says, on the arrays of addresses of a batch. It
// queues on options.stream and holds `context`.
std::function<void(const Operands&)> gpu_array_call(const Gpu& gpu, Context& context,
                                                    const BenchCase& bench_case, const GemmOptions& options);

// Bytes of sizes that a launch reads besides operands and addresses.
double gpu_array_bytes(const BenchCase& bench_case);

}  // namespace tilewright::cli
