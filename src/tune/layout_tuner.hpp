// Tuning of the conversion rule: which block a strided or pointer batch is best interleaved to, and what
// converting, multiplying there and multiplying in place cost. The blocks are a space, their contest and
// their gate are those of any other config; keeping the costs is another's work.
#pragma once

#include "kernel/layout/layout.hpp"
#include "measure/buffers.hpp"
#include "measure/estimate.hpp"
#include "tune/sweep_log.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

struct LayoutTuneOptions {
  Isa isa = Isa::portable;
  double budget_s = 2;             // prepare_conversion() beforehand keeps the filling of memory out of it
  const Wisdom* wisdom = nullptr;  // whose configs the kernels on both sides get; null: the defaults
  std::optional<LayoutConfig> incumbent;  // known as best before
  SweepLog* log = nullptr;
  std::function<bool()> stop;  // asked between turns; true ends the tuning without a result
  std::uint64_t seed = 1;
};

struct LayoutTuneResult {
  GemmProblem problem;  // with the batch_count that was timed
  LayoutConfig config;
  LayoutConfig default_config;
  LayoutCosts costs;         // of the winner
  Estimate seconds;          // converting in, multiplying once and converting out, per problem
  Estimate default_seconds;  // the same with the default block
  double regret = 0;
  bool tie = false;
  std::vector<LayoutConfig> ties;
  std::vector<Removed> removed;
  std::int64_t candidates = 0;
  std::int64_t wrong = 0;
  std::string first_wrong;
  int rounds = 0;
  double tuning_s = 0;
  bool complete = true;
};

// Refuses problems for which there is nothing to decide: all but strided and pointer batches on the host of
// sizes that the small kernels serve. Throws as check_tunable() does.
void check_convertible(const GemmProblem& problem, Isa isa);

// Makes room for the operands as they are and interleaved, and fills it.
void prepare_conversion(const GemmProblem& problem, Arena& arena, Arena& interleaved);

LayoutTuneResult tune_layout(const GemmProblem& problem, const LayoutTuneOptions& options, Arena& arena,
                             Arena& interleaved);

// The line that stands for the result, in `tune --json` and in the log: its costs are what is kept.
nlohmann::json wisdom_record(const LayoutTuneResult& result);

}  // namespace tilewright
