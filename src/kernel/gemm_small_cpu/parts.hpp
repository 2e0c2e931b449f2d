// The three parts gemm_small_cpu is made of; gemm_small_cpu/family.cpp picks by layout and ISA. Each part has
// its space, its rule-of-thumb config and its maker, with the meaning given in gemm_small_cpu/kernel.hpp.
//   columns:     generated code for strided and pointer batches, vectors along the rows of C
//   interleaved: generated code for (block-)interleaved batches, vectors along the problems of a block
//   portable:    Highway source for every layout, any CPU, no generated code
#pragma once

#include "kernel/gemm_small_cpu/kernel.hpp"

namespace tilewright {

Space<GemmSmallCpuConfig> columns_space(const GemmProblem& problem, Isa isa);
Space<GemmSmallCpuConfig> columns_search(const GemmProblem& problem, Isa isa);
GemmSmallCpuConfig columns_default(const GemmProblem& problem, Isa isa);
std::shared_ptr<const GemmSmallCpuKernel> make_columns(const GemmProblem& problem,
                                                       const GemmSmallCpuConfig& config);
// For sums of products into one C.
void columns_sum_axes(Space<GemmSmallCpuConfig>& space, const GemmProblem& problem);
GemmSmallCpuConfig columns_sum_default(const GemmProblem& problem, GemmSmallCpuConfig rows);
// True if byte offsets inside a matrix fit the 32-bit displacements of columns kernels.
bool within_displacement(const GemmProblem& problem);

Space<GemmSmallCpuConfig> interleaved_space(const GemmProblem& problem, Isa isa);
Space<GemmSmallCpuConfig> interleaved_search(const GemmProblem& problem, Isa isa);
GemmSmallCpuConfig interleaved_default(const GemmProblem& problem, Isa isa);
std::shared_ptr<const GemmSmallCpuKernel> make_interleaved(const GemmProblem& problem,
                                                           const GemmSmallCpuConfig& config);

Space<GemmSmallCpuConfig> portable_space(const GemmProblem& problem);
GemmSmallCpuConfig portable_default(const GemmProblem& problem);
std::shared_ptr<const GemmSmallCpuKernel> make_portable(const GemmProblem& problem,
                                                        const GemmSmallCpuConfig& config);

}  // namespace tilewright
