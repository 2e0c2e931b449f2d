// Calls that sum the products of one batch into one C on the host.
#pragma once

#include "gemm/context_impl.hpp"

namespace tilewright {

struct MatrixShape {
  std::int64_t rows, cols;
};

// Throws Error(invalid_argument) for a description that means nothing, or where the stored shapes of A and B
// are not those of the problem.
void check_reduce_shapes(const GemmProblem& problem, MatrixShape a, MatrixShape b);

// Operands as plans take them; `c` is the one matrix. Throws Error before anything is written.
void run_batch_reduce(Context::Impl& context, const GemmProblem& problem, const Operands& operands,
                      const void* c, const GemmOptions& options);

}  // namespace tilewright
