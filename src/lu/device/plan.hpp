// What plans of matrices in device memory tell of themselves besides tilewright/lu.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/access.hpp"
#include "lu/explanation.hpp"
#include "tilewright/lu.hpp"

namespace tilewright {

struct LuPlanCandidateName {
  const char* name;
  std::int64_t most_nb;  // that LuOptions::nb may be; 0: it has blocks of its own
};
// In the order in which they are asked.
std::vector<LuPlanCandidateName> lu_plan_candidates();

// lu_candidate and lu_explanation of a problem in device memory.
std::string device_lu_candidate(Context& context, const LuProblem& problem, const LuOptions& options);
LuExplanation device_lu_explanation(Context& context, const LuProblem& problem, const LuOptions& options);

}  // namespace tilewright
