// `info --environment`: every environment variable with its value, default and meaning, from the table of
// core/env.
#pragma once

#include <cstdio>

#include "core/json.hpp"

namespace tilewright::cli {

// {"environment": [{"name", "value", "default", "meaning"}, ...]}; value is null where a variable is not set.
nlohmann::json environment_json();
void print_environment(std::FILE* out, const nlohmann::json& environment);

}  // namespace tilewright::cli
