// C = beta * C, which is all that is left of a multiplication when k = 0 or alpha = 0. It never reads A and
// B, and does not read C when beta = 0.
#pragma once

#include "core/problem.hpp"

namespace tilewright {

// Else no call does anything. The one C that all products of a batch are reduced into is there without
// products, too.
bool has_elements_of_c(const GemmProblem& problem);

// Problems first ... first + count - 1, on the calling thread; of an interleaved batch only these problems'
// elements are touched. A and B of the operands may be null.
void scale_c(const GemmProblem& problem, const Operands& operands, std::int64_t first, std::int64_t count);

}  // namespace tilewright
