// Problem after problem.
#include "tune/lu/session.hpp"

#include <algorithm>
#include <cmath>

#include "core/build_info.hpp"
#include "lu/tuned.hpp"
#include "tune/strategy/strategy.hpp"
#include "wisdom/record.hpp"

namespace tilewright {
namespace {

nlohmann::json run_keys(Context& context, const std::vector<LuProblem>& problems, const LuTuning& tuning) {
  nlohmann::json run = tuning.log.run;
  run["operation"] = "lu";
  run["strategy"] = tuning.strategy;
  run["source_hash"] = lu_source_hash;
  run["threads"] = tuning.threads;
  for (const AxisChoice& choice : tuning.rules.choices)
    run["set"].push_back({{"axis", choice.axis}, {"values", choice.values}});
  for (const AxisCondition& one : tuning.rules.conditions)
    run["where"].push_back({{"axis", one.axis}, {"relation", one.relation}, {"value", one.value}});
  for (const LuProblem& problem : problems)
    run["devices"][to_string(problem.location)] = lu_device_name(context, problem, tuning.gpu);
  return run;
}

class Session {
 public:
  Session(Context& context, const LuTuning& tuning, const LuTuneWatcher& watcher)
      : context_(context), tuning_(tuning), watcher_(watcher) {}

  SessionReport run(const std::vector<LuProblem>& problems) {
    strategy_named(tuning_.strategy);
    check_axes<LuConfig>(tuning_.rules);
    if (!tuning_.log.path.empty())
      log_ = SweepLog(tuning_.log.path, run_keys(context_, problems, tuning_), tuning_.log.resume,
                      tuning_.log.keep_all);
    budget_s_ = lu_budget_s(tuning_, problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (take_result(problems[i])) continue;
      if (left_s() <= 0 && i > 0) return end("the budget is spent");
      if (!tune(problems[i], left_s() / double(problems.size() - i))) {
        report_.stopped = true;
        return end("interrupted");
      }
    }
    return end("");
  }

 private:
  double spent_s() const { return tuning_.clock.now() - begin_s_; }
  double left_s() const { return budget_s_ - spent_s(); }

  SessionReport end(const std::string& why) {
    report_.ended = why;
    report_.spent_s = spent_s();
    report_.searched = std::ssize(regrets_);
    report_.regret = regrets_.empty() ? 0 : geometric_mean(regrets_) - 1;
    return report_;
  }

  // What an earlier run of the log has found.
  bool take_result(const LuProblem& problem) {
    const auto known = log_.result(to_string(problem));
    if (known.is_null()) return false;
    LuTuned result;
    result.problem = problem, result.subject = to_string(problem);
    if (!known.is_object() || !known.contains("config"))
      throw Error(ErrorCode::io, "--log",
                  fmt::format("--log: its result of {} is not a record", to_string(problem)));
    result.record = known, result.config = known["config"];
    keep(result);
    ++report_.done;
    return true;
  }

  bool tune(const LuProblem& problem, double seconds) {
    const double begin_s = tuning_.clock.now();
    const auto pool = lu_pool({context_, problem, tuning_.rules, tuning_.gpu, tuning_.threads, tuning_.seed});
    SearchOptions options;
    options.budget_s = seconds;
    options.clock = tuning_.clock;
    options.strategy = tuning_.strategy, options.seed = tuning_.seed;
    options.log = tuning_.log.path.empty() ? nullptr : &log_;
    options.stop = [&] {
      return watcher_.stop && watcher_.stop(problem, std::size_t(report_.done), spent_s());
    };
    LuTuned result;
    static_cast<SearchOutcome&>(result) =
        search(to_string(problem), *pool, options, lu_pace(), incumbent(problem, *pool), begin_s);
    if (!result.complete) return false;
    result.problem = problem;
    result.config = pool->fields(result.winner), result.default_config = pool->fields(0);
    result.record = winner_record(result, pool->origin(), result.config);
    keep(result);
    log_.add_result(result.subject, result.record);
    regrets_.push_back(1 + std::max(0.0, result.regret));
    ++report_.done;
    return true;
  }

  // The place of what was found before for this very problem.
  std::optional<std::size_t> incumbent(const LuProblem& problem, const ConfigPool& pool) const {
    const auto known = tuned_lu(context_, problem, {.device = tuning_.gpu});
    if (known.match != WisdomMatch::exact) return std::nullopt;
    for (std::size_t i = 0; i < pool.size(); ++i)
      if (pool.fields(i) == known.config) return i;
    return std::nullopt;
  }

  void keep(LuTuned& result) {
    if (tuning_.store != nullptr)
      result.newer_stays = !tuning_.store->add_found(record_of_line(result.record).value());
    if (watcher_.found) watcher_.found(result);
  }

  Context& context_;
  const LuTuning& tuning_;
  const LuTuneWatcher& watcher_;
  SweepLog log_;
  double begin_s_ = tuning_.clock.now(), budget_s_ = 0;
  SessionReport report_;
  std::vector<double> regrets_;
};

}  // namespace

double lu_budget_s(const LuTuning& tuning, std::size_t problems) {
  return tuning.budget_s.value_or(double(problems) * lu_pace().usual_budget_s);
}

SessionReport tune_lu(Context& context, const std::vector<LuProblem>& problems, const LuTuning& tuning,
                      const LuTuneWatcher& watcher) {
  return Session(context, tuning, watcher).run(problems);
}

}  // namespace tilewright
