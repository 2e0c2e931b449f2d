// Tuning of one problem on a GPU: a strategy tries configs, each compiled beside others, checked before it is
// timed and timed by the device's events over operands that no cache holds; the best few meet the incumbent
// in paired rounds. Its result is a line of wisdom; storing that is another's work.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "device/energy_meter.hpp"
#include "kernel/gpu_gemm_small.hpp"
#include "measure/estimate.hpp"
#include "measure/gpu_arena.hpp"
#include "tune/candidates.hpp"
#include "tune/objective.hpp"
#include "tune/sweep_log.hpp"

namespace tilewright {

struct GpuTuneOptions {
  double budget_s = 30;
  std::string strategy = "exhaustive";
  TuneObjective objective;
  EnergyMeter* meter = nullptr;              // of the GPU; needed where the objective asks for energy
  std::optional<GemmSmallConfig> incumbent;  // known as best before: it stays unless it is clearly beaten
  bool whole_space = false;  // configs drawn from the whole space, or those that the cost model puts first
  std::vector<AxisChoice> choices;
  std::vector<AxisCondition> conditions;
  SweepLog* log = nullptr;
  std::function<bool()> stop;  // asked between turns; true ends the tuning without a result
  std::uint64_t seed = 1;
};

struct GpuTuneResult {
  GemmProblem problem;  // with the batch_count that was timed
  nlohmann::json config, default_config;
  TuneObjective objective;
  Estimate seconds, default_seconds;  // per problem
  std::optional<Estimate> joules;
  double regret = 0;  // of the default: by what share it costs more than the winner, in paired rounds
  bool tie = false;   // something was as good as the incumbent, which stayed
  std::vector<nlohmann::json> ties;  // finalists that the winner could not be told from
  std::int64_t candidates = 0, measured = 0, wrong = 0;
  std::string first_wrong;
  int rounds = 0, discarded_rounds = 0;
  // Clocks and temperature while the finalists met, whose energy, the winner's error over its bound.
  nlohmann::json metrics = nlohmann::json::object();
  double tuning_s = 0;
  bool complete = true;  // false: stopped before a winner was found
  std::string device, device_uuid, driver, compiler;
};

// What gpu_tune() refuses of a problem, without any work.
void check_gpu_tunable(const GemmProblem& problem);

// The problem must lie on the arena's GPU. Throws Error(unsupported) for what has no space to search,
// Error(invalid_argument) naming an axis or value that does not exist, or when no config remains.
GpuTuneResult gpu_tune(const GemmProblem& problem, const StencilCompiler& compiler,
                       const GpuTuneOptions& options, GpuArena& arena);

nlohmann::json wisdom_record(const GpuTuneResult& result);

}  // namespace tilewright
