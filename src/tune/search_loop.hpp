// The search for CPU and GPU: a strategy tries candidates, the better ones are timed repeatedly, and the last
// few meet the incumbent in paired rounds. A tie leaves the incumbent. The pool makes, checks and times them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/estimate.hpp"
#include "core/json.hpp"
#include "core/objective.hpp"
#include "core/problem.hpp"
#include "measure/clock.hpp"
#include "tune/checked_pool.hpp"
#include "tune/sweep_log.hpp"

namespace tilewright {

// The clock of a search's budget: wall time, or turns alone, each of its nominal length.
struct BudgetClock {
  std::function<double()> now = wall_seconds;                    // in seconds
  std::function<void(double)> count = [](double /*turn_s*/) {};  // called with each measured turn

  // Counts neither compiling nor checking nor other load: the same budget is always as many turns.
  static BudgetClock of_turns() {
    const auto counted = std::make_shared<double>(0);
    return {[counted] { return *counted; }, [counted](double turn_s) { *counted += turn_s; }};
  }
};

// The settings that a session shares with its searches.
struct SearchSettings {
  std::string strategy = "exhaustive";
  TuneObjective objective;
  double window_s = 0;  // the least length of turns with energy
  std::uint64_t seed = 1;
  BudgetClock clock;
};

struct SearchOptions : SearchSettings {
  double budget_s = 2;           // for this problem
  EnergyMeter* meter = nullptr;  // required if the objective includes energy
  SweepLog* log = nullptr;
  std::function<bool()> stop;  // called between turns; true ends the search without a result
};

// The gain that a config needs over the default.
inline constexpr double least_gain = 0.005;

// A config that the gate refused.
struct WrongConfig {
  nlohmann::json config;
  std::string reason;
};

// A peer, which met the winner in the contest and cannot win.
struct PeerOutcome {
  std::string name;
  nlohmann::json config;
  Estimate seconds;  // per problem
  std::optional<Estimate> joules;
  Accuracy accuracy;
  // The winner's excess cost over the peer in paired rounds, relative; negative if it costs less. Empty with
  // too few rounds.
  std::optional<double> regret;
};

struct SearchOutcome {
  std::string subject;  // the problem's text, with the batch count that was timed
  TuneObjective objective;
  Estimate seconds;          // per problem
  Estimate default_seconds;  // per problem
  std::optional<Estimate> joules;
  Accuracy accuracy;                                  // of the winner, in the gate
  nlohmann::json metrics = nlohmann::json::object();  // of the observers; source of energy
  double regret = 0;              // the default's excess cost over the winner in paired rounds, relative
  bool tie = false;               // a config was as good as the incumbent, which stayed
  bool decided = true;            // false: too few paired rounds in the budget; the incumbent stayed
  std::size_t winner = 0;         // its place in the pool
  std::vector<std::size_t> tied;  // finalists that tie with the winner
  std::int64_t candidates = 0;    // in the space searched
  std::int64_t measured = 0;
  std::int64_t wrong = 0;           // failed the gate
  std::string first_wrong;          // one of them, for the report
  std::vector<WrongConfig> wrongs;  // the first of them, for wisdom
  std::vector<PeerOutcome> peers;
  std::vector<std::string> peers_left_out;  // "name: reason" of wrong peers
  std::vector<std::string> notes;           // of who else used the device, by whoever looked
  int rounds = 0;                           // of the contest
  int discarded_rounds = 0;                 // the sentinel drifted
  double tuning_s = 0;
  bool complete = true;  // false: stopped before a winner was found
};

// Throws Error for an unknown strategy, or for an objective that needs energy without a meter of the location
// (of the GPU with this uuid).
void check_search(const SearchOptions& options, Location location, const std::string& uuid = "");

// `subject`: the problem's text; `begin_s`: the begin of the budget; `incumbent`: the place of the best
// config known before.
SearchOutcome search(const std::string& subject, CheckedPool& pool, const SearchOptions& options,
                     const SearchPace& pace, std::optional<std::size_t> incumbent, double begin_s);

}  // namespace tilewright
