// What each candidate says of a factorization and which one serves it, for people (explain_lu) and for
// scripts.
#pragma once

#include "lu/explanation.hpp"
#include "tilewright/lu.hpp"

namespace tilewright {

// Throws Error(invalid_argument) for bad fields and options.
LuExplanation lu_explanation(Context& context, const LuProblem& problem, const LuOptions& options);

}  // namespace tilewright
