// Tuning of factorizations: shares a budget out among problems, searches each among its candidates and
// panels, keeps what is found as it is found, and goes on from a log. What TuneSession is for products.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/lu/pool.hpp"
#include "tune/search_loop.hpp"
#include "tune/session.hpp"

namespace tilewright {

struct LuTuning {
  std::optional<double> budget_s;  // of all problems; else the usual one of each
  BudgetClock clock;               // that it is counted by
  std::string strategy = "exhaustive";
  std::uint64_t seed = 1;
  AxisRules rules;
  int gpu = 0, threads = 0;
  SessionLog log;
  WisdomStore* store = nullptr;  // keeps the winners; null: nobody
};

struct LuTuned : SearchOutcome {
  LuProblem problem;
  nlohmann::json config, default_config, record;
  bool newer_stays = false;  // the store has a newer or better measured record
};

struct LuTuneWatcher {
  // Asked before each turn: true ends the session.
  std::function<bool(const LuProblem& now, std::size_t done, double spent_s)> stop;
  std::function<void(const LuTuned&)> found;  // also of what a resumed run had found
};

// Searches the problems in turn. The report says how it ended. Throws Error(invalid_argument) for a strategy,
// an axis or a log that does not fit, Error(unsupported) where nothing factors a problem.
SessionReport tune_lu(Context& context, const std::vector<LuProblem>& problems, const LuTuning& tuning,
                      const LuTuneWatcher& watcher);

// The budget of so many problems.
double lu_budget_s(const LuTuning& tuning, std::size_t problems);

}  // namespace tilewright
