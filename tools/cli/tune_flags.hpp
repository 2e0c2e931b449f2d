// The flags of `tune`, and the problems and restrictions that they describe. tune.cpp and tune_check.cpp
// search. And the user's own wisdom, for the verbs that write it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/env.hpp"
#include "core/problem.hpp"
#include "tune/family/config_choice.hpp"
#include "tune/family/machine.hpp"
#include "tune/search_loop.hpp"
#include "wisdom/store.hpp"

namespace tilewright::cli {

struct TuneFlags {
  std::vector<std::string> problems;
  std::string sizes, from, json, budget;
  std::string clock = "wall";  // what the budget counts
  std::string wisdom;          // the database that keeps the winners; "none": none
  std::string sweep;
  std::string family = "auto";  // the configs of the kernels that serve each problem; or layout: the rule
  std::string dtype = "f64";
  std::string op = "nn";
  std::string layout;  // "": strided, single where a size is above what batches are made of
  std::string block;
  std::string beta = "0,1";
  std::string residency = "cold,l2,l1";  // of problems on the host; on a GPU cold
  std::string arrival = "back_to_back";  // of problems that name none
  std::string location;  // "": host, or the GPU for sizes that have no space to search on the host
  std::string device = "0";
  std::string megabytes = "1024";
  std::string objective = "time";
  std::string strategy = "exhaustive";
  std::string space = "usual";
  std::vector<std::string> set, where;
  std::string vary, configs, seeds, window;
  bool resume = false;
  bool check = false;
  bool shipped = false;  // --check: the records of tilewright too
  bool verbose = false;
};

// "90", "90s", "10min", "1h" -> seconds. Throws Error(invalid_argument) naming the flag.
double parse_duration(const char* flag, const std::string& text);

// True if the flags leave the choice of problems to the tool.
bool names_no_problem(const TuneFlags& flags);

// The distinct problems that were named, recorded (--from) or listed (--sizes), by element type, or what most
// users need on this machine.
std::vector<GemmProblem> problems_of(const TuneFlags& flags);

// Throws Error(unsupported) naming a flag that is for products alone, and has no meaning with `what`.
void refuse_flags_of_products(const TuneFlags& flags, const std::string& what);

// --seeds: configs that earlier runs found, as further candidates of a search; those of wisdom's records, of
// rows of results, or of the log of a sweep.
class Seeds {
 public:
  Seeds() = default;  // none
  // JSON lines. Lines without a problem and a config are passed over. Throws Error(invalid_argument) for a
  // file that cannot be read, Error(io) naming the line.
  explicit Seeds(const std::string& path);

  // Returns the configs of `family` for the same types, operations, sizes, layout, leading dimensions, beta
  // and location, sorted by the distance of the batch count.
  std::vector<nlohmann::json> of(const std::string& family, const GemmProblem& problem) const;

 private:
  struct Seed {
    std::string family;  // "": the line does not say
    GemmProblem problem;
    nlohmann::json config;
  };
  std::vector<Seed> seeds_;
};

// --set, --where, --space, --vary and --configs.
ChoiceRules rules_of(const TuneFlags& flags);

// Throws Error(unsupported) naming the first flag given of `more` and of those that say how to search: it has
// no meaning with `what`.
void refuse_search_flags(const TuneFlags& flags, std::vector<std::pair<const char*, bool>> more,
                         const std::string& what);

// --clock. Throws Error(invalid_argument) naming it.
BudgetClock clock_of(const TuneFlags& flags);

// --device and --megabytes. No GPU is opened.
TuneMachine machine_of(const TuneFlags& flags, Isa isa);

// A log of that name in the cache folder, which is made, for who did not name one by --`flag`; "" where there
// is no such folder, and then nothing is kept. Throws Error(io) where it cannot be made, and
// Error(invalid_argument) where an earlier run's is wanted and there is no folder.
std::string default_log(const Environment& environment, const std::string& flag, const char* name,
                        bool resume);

// Opens the user's own wisdom for the verbs that write it.

// Opens the database of that name or, for "", that of TILEWRIGHT_WISDOM or of the user's data folder. Throws
// Error(invalid_argument) naming the flag if the file holds JSON lines, which are read-only.
std::unique_ptr<WisdomStore> open_own_wisdom(const std::string& flag, const std::string& asked);

// Opens the database of --wisdom for a search, whose result must be storable: throws Error(io) if another
// process keeps it locked.
std::unique_ptr<WisdomStore> open_store_for_search(const std::string& asked);

// Returns search(). If it fails because of the database, the error says that the log has the measurements, if
// there is one.
template <class F>
auto saying_what_is_saved(bool has_log, F&& search) {
  try {
    return search();
  } catch (const Error& error) {
    if (error.argument() != "wisdom" || !has_log) throw;
    throw Error(error.code(), error.argument(),
                std::string(error.what()) + "; the measurements are in the log, and --resume reads them");
  }
}

}  // namespace tilewright::cli
