// Products and scaling in plain loops, for every layout, type and op. The reference defines what is correct:
// tests and the tuner compare with it. It is not meant to be fast.
#pragma once

#include "core/problem.hpp"

namespace tilewright {

// C = alpha * op(A) * op(B) + beta * C for problems first ... first + count - 1, on the calling thread. Adds
// in the problem's dtype, in the order of k. beta = 0 reads no C; alpha = 0 or k = 0 no A and B.
void gemm_reference(const GemmProblem& problem, const Operands& operands, std::int64_t first,
                    std::int64_t count);
// The same for the whole batch.
inline void gemm_reference(const GemmProblem& problem, const Operands& operands) {
  gemm_reference(problem, operands, 0, problem.batch_count);
}

// C = beta * C for the same problems. beta = 0 does not read C. A and B of the operands may be null.
void scale_c(const GemmProblem& problem, const Operands& operands, std::int64_t first, std::int64_t count);

}  // namespace tilewright
