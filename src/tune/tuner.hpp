// Tuning of one problem: a strategy tries candidates, the better ones are timed again and again, and the last
// few meet the incumbent in a contest of paired rounds that a tie leaves to the incumbent. Its result is a
// line of wisdom; storing that is another's work.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/problem.hpp"
#include "device/energy_meter.hpp"
#include "kernel/gemm_small_cpu.hpp"
#include "measure/buffers.hpp"
#include "measure/contest.hpp"
#include "measure/estimate.hpp"
#include "tune/candidates.hpp"
#include "tune/objective.hpp"
#include "tune/sweep_log.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

struct TuneOptions : CandidateRules {
  double budget_s =
      2;  // for this problem; prepare_operands() beforehand keeps the filling of memory out of it
  std::string strategy = "exhaustive";
  TuneObjective objective;
  EnergyMeter* meter = nullptr;  // needed where the objective asks for energy
  // Known as best before: it stays unless it is beaten by more than the spread and 3 %. Else the default is
  // the incumbent, and half a percent will do.
  std::optional<GemmSmallCpuConfig> incumbent;
  SweepLog* log = nullptr;
  std::function<bool()> stop;  // asked between turns; true ends the tuning without a result
  std::uint64_t seed = 1;
};

struct TuneResult {
  GemmProblem problem;  // with the batch_count that was timed
  GemmSmallCpuConfig config;
  GemmSmallCpuConfig default_config;
  TuneObjective objective;
  Estimate seconds;          // per problem
  Estimate default_seconds;  // per problem
  std::optional<Estimate> joules;
  Accuracy accuracy;       // of the winner, in the gate
  nlohmann::json metrics;  // clock and temperature while the finalists met; whose energy
  double regret = 0;       // of the default: by what share it costs more than the winner, in paired rounds
  bool tie = false;        // something was as good as the incumbent, which stayed
  std::vector<GemmSmallCpuConfig> ties;  // finalists that the winner could not be told from
  std::int64_t candidates = 0;           // in the space searched
  std::vector<Removed> removed;          // what the constraints cut off it
  std::int64_t measured = 0;
  std::int64_t wrong = 0;    // failed the gate and were not timed
  std::string first_wrong;   // one of them, for the report
  int rounds = 0;            // of the contest
  int discarded_rounds = 0;  // the sentinel drifted
  double tuning_s = 0;
  bool complete = true;  // false: stopped before a winner was found
};

// What tune() refuses of a problem and of rules, without any work. Throws as tune() does.
void check_tunable(const GemmProblem& problem, const CandidateRules& rules);

// The problem must have a residency other than automatic and a layout with fixed sizes. Throws
// Error(invalid_argument) naming an axis or value that does not exist, or when no config remains, and
// Error(unsupported) when the objective needs energy and there is no meter.
TuneResult tune(const GemmProblem& problem, const TuneOptions& options, Arena& arena);

// What wisdom knows for exactly this problem, tuned on this machine.
std::optional<GemmSmallCpuConfig> incumbent_of(const Wisdom& wisdom, const GemmProblem& problem, Isa isa);

// The rules of the contest at the end of a search: with an incumbent that was tuned before, a challenger must
// gain 3 %, else half a percent will do.
ContestRules contest_rules(bool has_incumbent, std::uint64_t seed);

// The line of wisdom that the result stands for.
nlohmann::json wisdom_record(const TuneResult& result);

}  // namespace tilewright
