// Tuning from C++: finds the best config of a problem by measuring and keeps it in the user's wisdom, when
// asked to or when a call misses. This is the one header whose functions are in a library of their own,
// tilewright::tune (-ltilewright_tune); programs that never tune need not link it.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/context.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {

struct TuneSearch {
  double budget_s = 2;                  // in all; cold operands are filled within half of it
  std::string objective = "time";       // energy, edp, alpha=0.7, energy_within=5%: these need a meter
  std::string strategy = "exhaustive";  // random, local, model
};

// What was found and kept.
struct Tuned {
  GemmProblem problem;   // as it was timed
  std::string config{};  // the winner as JSON
  std::string wisdom{};  // the database that keeps it
  double seconds = 0;    // per problem: centre, and an interval of 95 %
  double seconds_low = 0;
  double seconds_high = 0;
  double regret = 0;  // by what share the default config costs more than the winner
  bool tie = false;   // something was as good as what was known before, which stayed
  std::int64_t candidates = 0;
  std::int64_t measured = 0;
};

// Searches on the calling thread, with the kernels that `context` runs, and keeps the winner in its wisdom;
// its next calls use it. Residency::automatic is tuned as cold. Throws Error(unsupported) for a problem
// without a space to search, an objective without a meter or a Context without wisdom,
// Error(invalid_argument) naming the problem, the strategy, the objective or a budget that does not even pay
// for filling memory with cold operands, Error(io) where the wisdom cannot be written.
Tuned tune(Context& context, const GemmProblem& problem, const TuneSearch& search = {});

// From now on calls in `context` whose GemmOptions::tune_on_miss has a budget tune what wisdom lacks.
void install_tuner(Context& context);

}  // namespace tilewright
