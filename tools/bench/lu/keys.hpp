// Keys of rows about a factorization, common to the verb lu and bench lu.
#pragma once

#include "core/json.hpp"
#include "tilewright/lu.hpp"

namespace tilewright::bench {

// Returns the keys of the problem, with null for keys that only products have.
nlohmann::json lu_problem_keys(const LuProblem& problem);

// Returns the implementation and the columns of its panels (0: its own choice).
nlohmann::json lu_config(const LuReport& report);

// Returns cpu, gpu or hybrid: where a run with these options computed.
std::string lu_target(Context& context, const LuProblem& problem, const LuOptions& options,
                      const LuReport& report);

// True if the implementation that ran factors panels one after the other and reports the time of each part.
bool is_by_panels(const LuReport& report);

// Returns the time of each part, or null if the implementation does not report it.
nlohmann::json lu_breakdown(const LuReport& report);

}  // namespace tilewright::bench
