// Tuning of one problem on the CPU: the search of search_loop.hpp over the configs of batched small GEMM. Its
// result is a line of wisdom; storing that is another's work.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/problem.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "measure/buffers.hpp"
#include "measure/contest.hpp"
#include "measure/operands.hpp"
#include "tune/config_kernels.hpp"
#include "tune/search_loop.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

struct TuneOptions : ConfigRules, SearchOptions {
  // Known as best before: it stays unless it is beaten by more than the spread and 3 %. Else the default is
  // the incumbent, and half a percent will do.
  std::optional<GemmSmallCpuConfig> incumbent;
  // Of the operands that cold data are taken from in turn. Filling them counts against the budget unless
  // prepare_operands() did it beforehand.
  double ring_bytes = cold_bytes;
};

struct TuneResult : SearchOutcome {
  GemmSmallCpuConfig config;
  GemmSmallCpuConfig default_config;
  std::vector<GemmSmallCpuConfig> ties;  // finalists that the winner could not be told from
  std::vector<Removed> removed;          // what the constraints cut off the space
};

// What tune() refuses of a problem and of rules, without any work. Throws as tune() does.
void check_tunable(const GemmProblem& problem, const ConfigRules& rules);

// The problem must have a residency other than automatic and a layout with fixed sizes. Throws
// Error(invalid_argument) naming an axis or value that does not exist, or when no config remains, and
// Error(unsupported) when the objective needs energy and there is no meter.
TuneResult tune(const GemmProblem& problem, const TuneOptions& options, Arena& arena);

// What wisdom knows for exactly this problem and objective, tuned on this machine.
std::optional<GemmSmallCpuConfig> incumbent_of(const Wisdom& wisdom, const GemmProblem& problem, Isa isa,
                                               const TuneObjective& objective);

// The rules of the contest at the end of a search: with an incumbent that was tuned before, a challenger must
// gain 3 %, else half a percent will do.
ContestRules contest_rules(bool has_incumbent, std::uint64_t seed);

// The line of wisdom that the result stands for, and those of the configs that failed the gate.
nlohmann::json wisdom_record(const TuneResult& result);
std::vector<nlohmann::json> wrong_records(const TuneResult& result);

}  // namespace tilewright
