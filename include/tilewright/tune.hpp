/// @file
/// Tuning from C++: finds the best configs of problems by measuring and keeps them in the user's wisdom, on
/// request or when a call misses. The functions of this header are in a library of their own,
/// tilewright::tune
/// (-ltilewright_tune); programs that never tune need not link it.
/// @par Units Times are seconds, energies joules, both per problem of a batch.
/// @par Memory tune() allocates operands of its own and frees them before it returns.
/// @par Threads Searches of one process take turns at their measurements only if the program sees to it: run
/// one
///   tune() at a time and nothing else meanwhile, or times are wrong. Other calls are safe during a search.
/// @par Errors The functions throw Error as their comments say. Records found before an error are kept.
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

/// The state of a search between two measurements.
struct TuneProgress {
  const GemmProblem& problem;  ///< the problem that is searched now
  std::int64_t done;           ///< problems completed before it
  double spent_s;              ///< seconds since the search began
};

/// The order in which a search measures configs. exhaustive: all of them. random: drawn at random. local:
/// steps to better neighbours. model: the config that a model of the measurements so far predicts to be best.
enum class SearchStrategy : std::uint8_t { exhaustive, random, local, model };

/// Every field has a default.
struct TuneSearch {
  double budget_s = 2;                       ///< for all problems; filling cold operands may use half of it
  Objective objective = Objective::time;     ///< all others need an energy meter
  std::optional<double> objective_weight{};  ///< as in GemmOptions
  SearchStrategy strategy = SearchStrategy::exhaustive;
  int device = 0;       ///< number of the GPU that problems in device memory lie on
  std::string log{};    ///< path of a file that receives every measurement; "": none
  bool resume = false;  ///< true: continue from that log
  std::function<bool(const TuneProgress&)>
      progress{};  ///< called between measurements; false ends the search
};

/// The result of a search, as it was kept.
struct Tuned {
  GemmProblem problem;      ///< as it was timed
  std::string family{};     ///< the family of kernels
  std::string config{};     ///< the winner as JSON
  std::string wisdom{};     ///< path of the database that keeps it
  double seconds = 0;       ///< centre of the measurements
  double seconds_low = 0;   ///< lower end of the 95 % interval
  double seconds_high = 0;  ///< upper end of it
  double joules = 0;        ///< 0 unless the objective involves energy
  std::string peer{};       ///< the vendor's library, if it took part
  double peer_seconds = 0;  ///< its time in the same rounds
  double regret = 0;        ///< relative cost of the default config above the winner's
  bool tie = false;         ///< true if the winner was no better than the known config, which stayed
  std::int64_t candidates = 0;
  std::int64_t measured = 0;  ///< configs measured by this search, without those of a resumed log
};

}  // namespace v0_2

/// Returns a search with the objective and the strategy of these names, as `tilewright tune` reads them:
/// "time", "energy", "edp", "alpha=0.7", "energy_within=5%"; "exhaustive", "random", "local", "model".
/// @throws Error invalid_argument naming the one that is not known.
TuneSearch tune_search(const std::string& objective, const std::string& strategy);

/// Searches on the calling thread, with the kernels that `context` runs, and keeps the winners in its wisdom;
/// its next calls use them. Residency::automatic is tuned as cold. Returns the problems that the budget
/// sufficed for.
/// @throws Error unsupported for a problem without a space to search, an objective without a meter or a
/// Context
///   without wisdom; invalid_argument naming the problem, the strategy, the objective or a budget that is too
///   small to fill memory with cold operands; io if the wisdom or the log cannot be written.
std::vector<Tuned> tune(Context& context, const std::vector<GemmProblem>& problems,
                        const TuneSearch& search = {});

/// The same for one problem.
/// @throws Error as above, and unsupported if `progress` ends the search.
Tuned tune(Context& context, const GemmProblem& problem, const TuneSearch& search = {});

/// Lets later calls in `context` with GemmOptions::tune_on_miss_s > 0 tune what wisdom lacks. Not while other
/// threads use the Context. It throws nothing but std::bad_alloc.
void install_tuner(Context& context);

}  // namespace tilewright
