// Calls that sum products into one C: lists of them on the host, and batches wherever they lie.
#pragma once

#include <span>

#include "gemm/context_impl.hpp"
#include "gemm/sums/list.hpp"

namespace tilewright {

// C = sum of the products that name it + beta * C for each such C. Throws Error before anything is written.
void run_stacks(Context::Impl& context, std::span<const SumList> lists, const void* beta,
                const GemmOptions& options);

struct MatrixShape {
  std::int64_t rows, cols;
};

// Throws Error(invalid_argument) where the stored shapes of A and B are not those of the problem.
void check_reduce_shapes(const GemmProblem& problem, MatrixShape a, MatrixShape b);

// Sums the products of a batch into one C, the operands' one matrix. Throws Error before anything is written.
void run_batch_reduce(Context::Impl& context, const GemmProblem& problem, const Operands& operands,
                      const GemmOptions& options, const ArgumentNames& names = argument_names);

}  // namespace tilewright
