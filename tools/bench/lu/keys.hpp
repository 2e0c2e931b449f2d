// Keys of rows about a factorization, the same from the verb lu and from bench lu.
#pragma once

#include "core/json.hpp"
#include "tilewright/lu.hpp"

namespace tilewright::bench {

// What was factored, and null for what products alone have.
nlohmann::json lu_problem_keys(const LuProblem& problem);

// Who was chosen, and by panels of how many columns (0: its own).
nlohmann::json lu_config(const LuReport& report);

// cpu, gpu or hybrid: where a run with these options computed.
std::string lu_target(Context& context, const LuProblem& problem, const LuOptions& options,
                      const LuReport& report);

// True if the candidate that ran factors panels one after the other and says how long each part took.
bool is_by_panels(const LuReport& report);

// Where the time went; null of candidates that do not say.
nlohmann::json lu_breakdown(const LuReport& report);

}  // namespace tilewright::bench
