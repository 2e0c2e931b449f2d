// Tuning of one problem on a GPU: the search of search_loop.hpp over configs that are compiled beside others,
// checked before they are timed and timed by the device's events over operands that no cache holds. Its
// result is a line of wisdom; storing that is another's work.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "kernel/gpu_gemm_small.hpp"
#include "measure/gpu_arena.hpp"
#include "tune/axis_rules.hpp"
#include "tune/search_loop.hpp"

namespace tilewright {

struct GpuTuneOptions : AxisRules, SearchOptions {
  GpuTuneOptions() { budget_s = 30; }
  std::optional<GemmSmallConfig> incumbent;  // known as best before: it stays unless it is clearly beaten
};

// Accuracies are errors over their bounds: a bound of 1.
struct GpuTuneResult : SearchOutcome {
  nlohmann::json config, default_config;
  std::vector<nlohmann::json> ties;  // finalists that the winner could not be told from
  std::string device, device_uuid, driver, compiler;
};

// What gpu_tune() refuses of a problem, without any work.
void check_gpu_tunable(const GemmProblem& problem);

// The problem must lie on the arena's GPU. Throws Error(unsupported) for what has no space to search,
// Error(invalid_argument) naming an axis or value that does not exist, or when no config remains.
GpuTuneResult gpu_tune(const GemmProblem& problem, const StencilCompiler& compiler,
                       const GpuTuneOptions& options, GpuArena& arena);

nlohmann::json wisdom_record(const GpuTuneResult& result);
std::vector<nlohmann::json> wrong_records(const GpuTuneResult& result);

}  // namespace tilewright
