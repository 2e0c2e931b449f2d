// Which of the two candidates for large products on a GPU goes first: what wisdom holds of each of them,
// compared where it can be. Making plans is run/large.cpp's.
#pragma once

#include <optional>
#include <string>

#include "gemm/candidates.hpp"
#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

// What kernels for `problem` are compiled for under the request's promises: the request's own problem, or
// that with another beta.
GemmLargeShape gpu_large_shape(const GemmProblem& problem, const PlanRequest& request);

// What wisdom holds of cuBLAS for the request's problem or one near it.
std::optional<WisdomAnswer> recorded_cublas(const PlanRequest& request);

// Whether cuBLAS takes the problem and can be set up, which is done.
bool cublas_serves(const PlanRequest& request);

// Why cuBLAS, which serves, goes before ours; "" where it does not serve, where ours or a config of ours was
// asked for, and where a record of ours that can be used says that ours costs no more.
std::string why_cublas_first(const PlanRequest& request);

}  // namespace tilewright
