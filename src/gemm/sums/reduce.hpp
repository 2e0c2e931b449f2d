// Calls that sum the products of one batch into one C.
#pragma once

#include "core/product/names.hpp"
#include "gemm/context_impl.hpp"

namespace tilewright {

struct MatrixShape {
  std::int64_t rows, cols;
};

// Throws Error(invalid_argument) where the stored shapes of A and B are not those of the problem.
void check_reduce_shapes(const GemmProblem& problem, MatrixShape a, MatrixShape b);

// Operands with C as the one matrix that it is. Throws Error before anything is written.
void run_batch_reduce(Context::Impl& context, const GemmProblem& problem, const Operands& operands,
                      const GemmOptions& options, const ArgumentNames& names = argument_names);

}  // namespace tilewright
