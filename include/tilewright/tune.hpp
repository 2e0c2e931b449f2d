// Tuning from C++: finds the best configs of problems by measuring and keeps them in the user's wisdom, when
// asked to or when a call misses. This is the one header whose functions are in a library of their own,
// tilewright::tune (-ltilewright_tune); programs that never tune need not link it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/context.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {
inline namespace v0_2 {

// The state of a search between two turns.
struct TuneProgress {
  const GemmProblem& problem;  // that is searched now
  std::int64_t done;           // problems before it
  double spent_s;
};

// The order in which a search measures configs: all of them; drawn at random; steps to better neighbours;
// where a model of those measured so far expects most.
enum class SearchStrategy : std::uint8_t { exhaustive, random, local, model };

struct TuneSearch {
  double budget_s = 2;                       // in all; cold operands are filled within half of it
  Objective objective = Objective::time;     // all others need a meter
  std::optional<double> objective_weight{};  // of alpha and energy_within, as GemmOptions has it
  SearchStrategy strategy = SearchStrategy::exhaustive;
  int device = 0;                                       // the GPU that problems in device memory lie on
  std::string log{};                                    // a file that every measured turn goes to; "": none
  bool resume = false;                                  // go on from that log
  std::function<bool(const TuneProgress&)> progress{};  // called between turns; false ends the search
};

// The result of a search, as it was kept.
struct Tuned {
  GemmProblem problem;   // as it was timed
  std::string family{};  // of kernels
  std::string config{};  // the winner as JSON
  std::string wisdom{};  // the database that keeps it
  double seconds = 0;    // per problem: centre, and an interval of 95 %
  double seconds_low = 0;
  double seconds_high = 0;
  double joules = 0;   // per problem, where the objective asks for energy
  std::string peer{};  // the vendor's library, where it took part, and what it took in the same rounds
  double peer_seconds = 0;
  double regret = 0;  // by what share the default config costs more than the winner
  bool tie = false;   // something was as good as what was known before, which stayed
  std::int64_t candidates = 0;
  std::int64_t measured = 0;  // now, not by a run that is resumed
};

}  // namespace v0_2

// A search for the objective and by the strategy of these names, as `tilewright tune` takes them: "time",
// "energy", "edp", "alpha=0.7", "energy_within=5%"; "exhaustive", "random", "local", "model". Throws
// Error(invalid_argument) naming the one that is none.
TuneSearch tune_search(const std::string& objective, const std::string& strategy);

// Searches on the calling thread, with the kernels that `context` runs, and keeps the winners in its wisdom;
// its next calls use them. Residency::automatic is tuned as cold. Of several problems those are returned that
// the budget sufficed for. Throws Error(unsupported) for a problem without a space to search, an objective
// without a meter or a Context without wisdom, Error(invalid_argument) naming the problem, the strategy, the
// objective or a budget that does not even pay for filling memory with cold operands, Error(io) where the
// wisdom or the log cannot be written. What was found before that is kept.
std::vector<Tuned> tune(Context& context, const std::vector<GemmProblem>& problems,
                        const TuneSearch& search = {});

// The same for one problem; also throws Error(unsupported) where `progress` ends the search.
Tuned tune(Context& context, const GemmProblem& problem, const TuneSearch& search = {});

// From now on calls in `context` whose GemmOptions::tune_on_miss has a budget tune what wisdom lacks.
void install_tuner(Context& context);

}  // namespace tilewright
