// The definition of correct: C = alpha * op(A) * op(B) + beta * C in plain loops, for every layout, type and
// op. It is the last candidate of a plan and what tests and the tuner compare with; it is not meant to be
// fast.
#pragma once

#include "core/problem.hpp"

namespace tilewright {

// Problems first ... first + count - 1 of the batch, on the calling thread. Sums are formed in the problem's
// dtype, in the order of k. beta = 0 never reads C; alpha = 0 and k = 0 never read A and B.
void gemm_reference(const GemmProblem& problem, const Operands& operands, std::int64_t first,
                    std::int64_t count);

// The whole batch, also of sums into one C.
void gemm_reference(const GemmProblem& problem, const Operands& operands);

}  // namespace tilewright
