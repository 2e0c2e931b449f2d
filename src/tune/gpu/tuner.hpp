// Tuning of one problem on a GPU: the search of search_loop.hpp over the configs of the family that serves
// it, compiled beside others, checked before they are timed and timed by the device's events over operands
// that no cache holds. Large problems meet the vendor's library in the contest. Its results are lines of
// wisdom; storing them is another's work.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "measure/gpu/arena.hpp"
#include "tune/gpu/family.hpp"
#include "tune/search_loop.hpp"

namespace tilewright {

// The incumbent, by its fields, stays unless it is clearly beaten.
struct GpuTuneOptions : GpuChoiceRules, SearchOptions {
  GpuTuneOptions() { budget_s = 30; }
};

// Accuracies are errors over their bounds: a bound of 1.
struct GpuTuneResult : SearchOutcome {
  std::string family;
  nlohmann::json config, default_config;
  std::vector<nlohmann::json> ties;  // finalists that the winner could not be told from
  std::string device, device_uuid, driver, compiler;
};

// What gpu_tune() refuses of a problem, without any work.
void check_gpu_tunable(const GemmProblem& problem);

// The problem must lie on the arena's GPU; the arena grows where its operands need it. Throws
// Error(unsupported) for what has no space to search or does not fit the device's memory,
// Error(invalid_argument) naming an axis or value that does not exist, or when no config remains.
GpuTuneResult gpu_tune(const GemmProblem& problem, const StencilCompiler& compiler,
                       const GpuTuneOptions& options, GpuArena& arena);

nlohmann::json wisdom_record(const GpuTuneResult& result);
std::vector<nlohmann::json> wrong_records(const GpuTuneResult& result);
// Those of the peers, each of a family of its own.
std::vector<nlohmann::json> peer_records(const GpuTuneResult& result);

}  // namespace tilewright
