// Describes a plan in bench's words: the only place that accesses the plan's internals.
#pragma once

#include <string>

#include "core/json.hpp"
#include "tilewright/gemm.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::bench {

nlohmann::json config_of(const GemmPlan& plan);  // null if there is no choice
WisdomMatch match_of(const GemmPlan& plan);
// Returns candidate, kernel, its counts and metrics, if there are any.
nlohmann::json metrics_of(const GemmPlan& plan);
// Returns lines for people: the instructions of the generated code per problem, or a kernel's resources on a
// GPU and the cycles of the cost model by cause.
std::vector<std::string> counts_of(const GemmPlan& plan);
// Returns seconds of CPU time to generate the kernel alone: no cache, no plan. Empty if no kernel is
// generated.
std::optional<double> generation_seconds(const GemmPlan& plan);

}  // namespace tilewright::bench
