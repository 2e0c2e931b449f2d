// How cuBLAS adds up an element of C, as far as errors tell (docs/gemm_large.md, "Rounding").
#pragma once

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"

namespace tilewright {

// Whether it shares k among blocks or groups of warps, so that its errors are smaller than those of one sum.
bool cublas_shares_k(const GemmProblem& problem, const GpuLimits& limits);
// Where it does: the fewest terms of one sum whose errors are as large as those that were seen of it.
double cublas_terms(const GemmProblem& problem, const GpuLimits& limits);

}  // namespace tilewright
