// The candidates whose operands lie on a GPU. Whether one serves a problem is said in words like those of the
// CPU's candidates.
#pragma once

#include "gemm/candidates.hpp"

namespace tilewright {

// gemm_small: generated kernels for small sizes.
std::string gpu_small_declines(const PlanRequest& request);
void prepare_gpu_small(const PlanRequest& request, GemmPlan::Impl& plan);

// gemm: the stencil for large matrices. cublas: the vendor's library, opened at run time.
std::string gpu_large_declines(const PlanRequest& request);
void prepare_gpu_large(const PlanRequest& request, GemmPlan::Impl& plan);
std::string cublas_declines(const PlanRequest& request);
void prepare_cublas(const PlanRequest& request, GemmPlan::Impl& plan);

// scale, where the operands lie on a GPU.
std::string gpu_scale_declines(const PlanRequest& request);
void prepare_gpu_scale(const PlanRequest& request, GemmPlan::Impl& plan);

}  // namespace tilewright
