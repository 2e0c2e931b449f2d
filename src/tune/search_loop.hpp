// The search that CPU and GPU share: a strategy tries candidates, the better ones are timed again and again,
// and the last few meet the incumbent in a contest of paired rounds that a tie leaves to the incumbent. What
// a candidate is, how it is checked and how it is timed are the pool's; storing what is found is another's.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/objective.hpp"
#include "core/problem.hpp"
#include "device/energy_meter.hpp"
#include "measure/accuracy.hpp"
#include "measure/estimate.hpp"
#include "measure/observer.hpp"
#include "tune/sweep_log.hpp"
#include "tune/turn_timer.hpp"

namespace tilewright {

// What a search is told, whatever it searches.
struct SearchOptions {
  double budget_s = 2;  // for this problem
  std::string strategy = "exhaustive";
  TuneObjective objective;
  EnergyMeter* meter = nullptr;  // needed where the objective asks for energy
  SweepLog* log = nullptr;
  std::function<bool()> stop;  // asked between turns; true ends the search without a result
  std::uint64_t seed = 1;
};

// What a config must gain on the default.
inline constexpr double least_gain = 0.005;

// How long turns and stages are on one kind of device.
struct SearchPace {
  double shortest_turn_s, longest_screening_s, longest_halving_s, longest_final_s;
  // Shares of the budget that are spent when the strategy ends and when halving ends; equal: no halving.
  double strategy_share, halving_share;
  double incumbent_tie;  // what a config must gain on one that was tuned before
};

// So many announced candidates are made at once, side by side.
constexpr std::size_t made_together = 64;

// The candidates of one problem; the first is the default.
class ConfigPool {
 public:
  virtual ~ConfigPool() = default;
  virtual std::size_t size() const = 0;
  virtual nlohmann::json fields(std::size_t i) const = 0;  // of its config, by name
  // For the log: device, device_uuid and source_hash of what is measured.
  virtual nlohmann::json origin() const { return nlohmann::json::object(); }

  // Peers hold the places after the candidates: they meet the finalists in the contest, so that what they
  // took is known from the same rounds, and never win. Everything below is asked of their places, too.
  virtual std::size_t peer_count() const { return 0; }
  virtual std::string peer_name(std::size_t) const { return ""; }  // of place i

  // These will be wanted soon: the next that has to be made takes others along.
  virtual void announce(std::span<const std::size_t> wanted) = 0;
  // Whether it could be made and passed the gate; failure(i) says why not, accuracy(i) how exact it is.
  virtual bool is_right(std::size_t i) = 0;
  virtual const std::string& failure(std::size_t i) const = 0;
  virtual const Accuracy& accuracy(std::size_t i) const = 0;
  // What an earlier run found out, so that the gate is not run again.
  virtual void set_failure(std::size_t i, std::string reason) = 0;
  virtual void set_passed(std::size_t i, const Accuracy& accuracy) = 0;

  // About `turn_s` of a right one. Throws Error(internal) when it cannot be made any more.
  virtual TurnTimer::Turn time(std::size_t i, double turn_s) = 0;
  // The same under a load without pauses, with the energy of a problem by a meter of where it runs. Throws
  // Error(io) with the reason where the meter gave none.
  virtual Metrics time_with_energy(std::size_t i, double turn_s, EnergyMeter& meter);
  // The shortest of such turns that means something.
  virtual double shortest_energy_s(const EnergyMeter& meter) const { return 2 * meter.shortest_s(); }
  // Who watches the contest.
  virtual std::vector<std::unique_ptr<Observer>> observers() const = 0;
};

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
  GemmProblem problem;  // with the batch_count that was timed
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
void check_search(const SearchOptions& options, const GemmProblem& problem, const std::string& uuid = "");

// `begin_s` is when the budget began; `incumbent` the place of what was known as best before.
SearchOutcome search(const GemmProblem& problem, ConfigPool& pool, const SearchOptions& options,
                     const SearchPace& pace, std::optional<std::size_t> incumbent, double begin_s);

// The place of what was known as best before; it is added where the search would leave it out and it is
// legal.
template <class Config, class Legal>
std::optional<std::size_t> place_of(const std::optional<Config>& incumbent, std::vector<Config>& configs,
                                    Legal&& legal) {
  if (!incumbent) return std::nullopt;
  auto at = std::find(configs.begin(), configs.end(), *incumbent);
  if (at == configs.end() && !legal(*incumbent)) return std::nullopt;
  if (at == configs.end()) at = configs.insert(at, *incumbent);
  return std::size_t(at - configs.begin());
}

// Who made the kernels that were measured, and where.
struct Origin {
  std::string family, device, device_uuid, driver, source_hash, compiler;
};

// The line of wisdom that the winner stands for, and those of the configs that failed the gate, which are
// kept so that people see them and no lookup takes them.
nlohmann::json winner_record(const SearchOutcome& outcome, const Origin& origin,
                             const nlohmann::json& config);
nlohmann::json peer_record(const SearchOutcome& outcome, const PeerOutcome& peer, const Origin& origin);
std::vector<nlohmann::json> wrong_records(const SearchOutcome& outcome, const Origin& origin);

// The keys that every tuned record has of its times.
void add_times(nlohmann::json& record, const Estimate& seconds, const Estimate& default_seconds);

}  // namespace tilewright
