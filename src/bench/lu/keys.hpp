// Keys of rows about a factorization, the same from the verb lu and from bench lu.
#pragma once

#include <nlohmann/json.hpp>

#include "tilewright/lu.hpp"

namespace tilewright::bench {

// What was factored.
nlohmann::json lu_problem_keys(const LuProblem& problem);

// Where the time went; null of candidates that do not say.
nlohmann::json lu_breakdown(const LuReport& report);

}  // namespace tilewright::bench
