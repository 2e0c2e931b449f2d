// What each candidate says of a factorization and which one serves it, for people (explain_lu) and for
// scripts.
#pragma once

#include "lu/candidates.hpp"

namespace tilewright {

// Throws Error(invalid_argument) for bad fields and options. The candidates are those of matrices on the
// host.
Explanation lu_explanation(Context& context, const LuProblem& problem, const LuOptions& options,
                           std::span<const LuCandidate> candidates = lu_candidates());

}  // namespace tilewright
