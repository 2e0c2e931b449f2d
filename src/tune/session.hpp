// A tuning session of the tool, a program or a call that missed: divides its budget among problems, searches
// the configs of each, keeps results at once, resumes from a log, and reports to a watcher.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tune/tuner.hpp"
#include "wisdom/store.hpp"

namespace tilewright {

struct SessionLog {
  std::string path;      // "": none
  bool resume = false;   // go on from it
  bool keep_all = true;  // every log that was there before; else the last one only
  bool evades = false;   // to a file of another name where another run writes it, and nothing is resumed
  nlohmann::json run = nlohmann::json::object();  // what else must be the same for earlier turns to count
  std::string argument = "--sweep";               // as its user knows it
};

struct SessionOptions : SearchSettings {
  // In all, filling memory included; else each problem has its default, and filling comes on top.
  std::optional<double> budget_s;
  bool at_least_one = false;  // searches one problem, however small the budget
  double fill_share = 0.4;    // of the remaining budget, for filling memory with operands
  SessionLog log;
  WisdomStore* store = nullptr;  // keeps the winners, if any
};

// Told of what happens, between two turns. Problems are named by their place in the session's list.
class TuneWatcher {
 public:
  virtual ~TuneWatcher() = default;
  // Asked before each turn: true ends the session. `done` problems are finished and `now` is searched.
  virtual bool stop(std::size_t /*now*/, std::int64_t /*done*/, double /*spent_s*/) { return false; }
  // Filling memory with the operands of a problem takes `needed_s`, which is too much of what is left.
  virtual void left_out(std::size_t /*problem*/, double /*needed_s*/, double /*left_s*/) {}
  // Fewer cold operands than cold_bytes are filled.
  virtual void small_ring(std::size_t /*problem*/, double /*bytes*/) {}
  virtual void found(const TuneResult&) {}
  // Nothing is kept of a result, because energy was compared in too few rounds.
  virtual void undecided(const TuneResult&) {}
  // Records found now or by the run that is resumed, the winner's first and then its peers'; `newer` says of
  // which the store has a newer or better measured one, which stays.
  virtual void kept(const std::vector<WisdomRecord>& /*records*/, const std::vector<bool>& /*newer*/) {}
};

struct SessionReport {
  std::int64_t done = 0, left_out = 0;
  std::string ended;     // why before all problems were done; "": they are
  bool stopped = false;  // because the watcher said so
  double regret = 0;     // of the defaults, geometric mean; of those searched now
  std::int64_t searched = 0;
  double spent_s = 0;
};

class TuneSession {
 public:
  // Refuses a wrong strategy, objective or log at once. The watcher must outlive the session.
  TuneSession(SessionOptions options, Operations operations, TuneWatcher& watcher);
  ~TuneSession();

  double budget_s() const;          // in all
  std::string log_path() const;     // "" without a log
  std::int64_t kept_turns() const;  // from the run that is resumed
  const Operations& operations() const;

  // Throws what searching throws; what was found before that is kept.
  SessionReport run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright
