// The search that CPU and GPU share: a strategy tries candidates, the better ones are timed again and again,
// and the last few meet the incumbent in a contest of paired rounds that a tie leaves to the incumbent. What
// a candidate is, how it is checked and how it is timed are the pool's; storing what is found is another's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/objective.hpp"
#include "core/problem.hpp"
#include "measure/estimate.hpp"
#include "tune/budget_clock.hpp"
#include "tune/checked_pool.hpp"
#include "tune/sweep_log.hpp"

namespace tilewright {

// What a search is told, whatever it searches.
struct SearchOptions {
  double budget_s = 2;  // for this problem
  std::string strategy = "exhaustive";
  TuneObjective objective;
  EnergyMeter* meter = nullptr;  // needed where the objective asks for energy
  double window_s = 0;           // that turns with energy last at least, for whom short ones say too little
  SweepLog* log = nullptr;
  std::function<bool()> stop;  // asked between turns; true ends the search without a result
  std::uint64_t seed = 1;
  BudgetClock clock;
};

// What a config must gain on the default.
inline constexpr double least_gain = 0.005;

// One that the gate refused.
struct WrongConfig {
  nlohmann::json config;
  std::string reason;
};

// One that met the winner in the contest and could not win.
struct PeerOutcome {
  std::string name;
  nlohmann::json config;
  Estimate seconds;  // per problem
  std::optional<Estimate> joules;
  Accuracy accuracy;
  // Of the winner: by what share it costs more than this one, in paired rounds; below 0 it costs less. Empty
  // where the rounds were too few to tell.
  std::optional<double> regret;
};

struct SearchOutcome {
  std::string subject;  // the problem's text, with the batch count that was timed
  TuneObjective objective;
  Estimate seconds;          // per problem
  Estimate default_seconds;  // per problem
  std::optional<Estimate> joules;
  Accuracy accuracy;                                  // of the winner, in the gate
  nlohmann::json metrics = nlohmann::json::object();  // of the observers; whose energy
  double regret = 0;       // of the default: by what share it costs more than the winner, in paired rounds
  bool tie = false;        // something was as good as the incumbent, which stayed
  bool decided = true;     // false: too few paired rounds fitted the budget, and the incumbent stayed
  std::size_t winner = 0;  // its place in the pool
  std::vector<std::size_t> tied;  // finalists that the winner could not be told from
  std::int64_t candidates = 0;    // in the space searched
  std::int64_t measured = 0;
  std::int64_t wrong = 0;           // failed the gate and were not timed
  std::string first_wrong;          // one of them, for the report
  std::vector<WrongConfig> wrongs;  // the first of them, for wisdom
  std::vector<PeerOutcome> peers;
  std::vector<std::string> peers_left_out;  // "name: reason" of those that were not right
  std::vector<std::string> notes;           // of who else used the device, by whoever looked
  int rounds = 0;                           // of the contest
  int discarded_rounds = 0;                 // the sentinel drifted
  double tuning_s = 0;
  bool complete = true;  // false: stopped before a winner was found
};

// What every search refuses: a strategy that does not exist, and an objective that needs energy without a
// meter of where the problem runs. `uuid` is of its GPU.
void check_search(const SearchOptions& options, Location location, const std::string& uuid = "");

// `subject` is the problem's text, `begin_s` when the budget began, `incumbent` the place of what was known
// as best before.
SearchOutcome search(const std::string& subject, CheckedPool& pool, const SearchOptions& options,
                     const SearchPace& pace, std::optional<std::size_t> incumbent, double begin_s);

}  // namespace tilewright
