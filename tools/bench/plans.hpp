// What a plan says of itself, in the words of benches: the only place that looks into one.
#pragma once

#include <string>

#include "core/json.hpp"
#include "tilewright/gemm.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::bench {

nlohmann::json config_of(const GemmPlan& plan);  // null where there is nothing to choose
WisdomMatch match_of(const GemmPlan& plan);
// candidate, kernel, its counts and metrics, as far as there are any.
nlohmann::json metrics_of(const GemmPlan& plan);
// Lines for people: what the generated code executes per problem, or what a kernel takes of a GPU and where
// the cost model sees its cycles go.
std::vector<std::string> counts_of(const GemmPlan& plan);
// Seconds of CPU time to generate the kernel by itself: no cache, no plan. Empty where none is generated.
std::optional<double> generation_seconds(const GemmPlan& plan);

}  // namespace tilewright::bench
