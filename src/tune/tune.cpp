// The functions of tilewright/tune.hpp. They use a Context's public members only: it is in another library.
#include "tilewright/tune.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/objective.hpp"
#include "core/product/faults.hpp"
#include "core/refuse.hpp"
#include "device/cpu.hpp"
#include "tune/family/family.hpp"
#include "tune/session.hpp"
#include "tune/strategy/strategy.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

template <>
struct EnumNames<SearchStrategy> {
  static constexpr std::array value{
      std::pair{SearchStrategy::exhaustive, "exhaustive"}, std::pair{SearchStrategy::random, "random"},
      std::pair{SearchStrategy::local, "local"}, std::pair{SearchStrategy::model, "model"}};
};

namespace {

// Opened before the search: a result that cannot be kept fails at once.
WisdomStore open_store(const std::string& path) {
  if (path.empty())
    throw Error(ErrorCode::unsupported, "context", "the Context uses no wisdom, so results cannot be kept");
  if (is_lines_file(path))
    throw Error(
        ErrorCode::invalid_argument, "wisdom",
        fmt::format("wisdom = '{}' holds JSON lines, which are only read: a database is needed", path));
  return WisdomStore(path, sqlite::Mode::write);
}

Tuned tuned_of(const std::vector<WisdomRecord>& records, const std::string& wisdom, std::int64_t measured) {
  const WisdomRecord& winner = records.front();
  Tuned tuned;
  tuned.problem = parse_problem(winner.problem);
  tuned.family = winner.family;
  tuned.config = winner.config.dump();
  tuned.wisdom = wisdom;
  tuned.seconds = winner.seconds, tuned.seconds_low = winner.seconds_low,
  tuned.seconds_high = winner.seconds_high;
  tuned.joules = winner.energy_j.value_or(0);
  if (records.size() > 1) tuned.peer = records[1].family, tuned.peer_seconds = records[1].seconds;
  tuned.regret = paired_regret(winner).value_or(0);
  tuned.tie = winner.extra.value("tie", false);
  tuned.candidates = winner.candidates.value_or(0);
  tuned.measured = measured;
  return tuned;
}

// Reports progress and results to the caller.
class CallersWatcher : public TuneWatcher {
 public:
  CallersWatcher(const TuneSearch& search, const std::vector<GemmProblem>& problems, std::string wisdom,
                 std::vector<Tuned>& tuned)
      : search_(search), problems_(problems), wisdom_(std::move(wisdom)), tuned_(tuned) {}

  bool stop(std::size_t now, std::int64_t done, double spent_s) override {
    return search_.progress && !search_.progress({problems_[now], done, spent_s});
  }
  void left_out(std::size_t problem, double needed_s, double) override {
    throw Error(
        ErrorCode::invalid_argument, "budget_s",
        fmt::format("budget_s = {:.3g} is too small for {}: filling memory with cold operands takes about "
                    "{:.2g} s, so {:.2g} s are needed",
                    search_.budget_s, to_string(problems_[problem]), needed_s, needed_s / fill_share));
  }
  void found(const TuneResult& result) override { measured_ = result.measured; }
  void undecided(const TuneResult& result) override {
    throw Error(ErrorCode::invalid_argument, "budget_s",
                fmt::format("budget_s = {:.3g} is too small to compare the energy of {}; nothing is kept",
                            search_.budget_s, result.subject));
  }
  // Records of this run or of the resumed one.
  void kept(const std::vector<WisdomRecord>& records, const std::vector<bool>&) override {
    tuned_.push_back(tuned_of(records, wisdom_, std::exchange(measured_, 0)));
  }

  static constexpr double fill_share = 0.5;  // of the budget

 private:
  const TuneSearch& search_;
  const std::vector<GemmProblem>& problems_;
  std::string wisdom_;
  std::vector<Tuned>& tuned_;
  std::int64_t measured_ = 0;
};

// Packed, and cold by default.
GemmProblem as_tuned(const GemmProblem& problem) {
  GemmProblem asked = with_general_scalars(packed(problem));
  if (asked.residency == Residency::automatic) asked.residency = Residency::cold;
  return asked;
}

std::vector<Tuned> search_and_keep(const std::vector<GemmProblem>& problems, const std::string& cpu,
                                   const std::string& wisdom, const TuneSearch& search) {
  if (!(search.budget_s > 0))
    throw Error(ErrorCode::invalid_argument, "budget_s",
                fmt::format("budget_s = {} must be positive", search.budget_s));
  if (search.resume && search.log.empty())
    throw Error(ErrorCode::invalid_argument, "resume", "resume = true needs a log to continue");
  WisdomStore store = open_store(wisdom);
  const Wisdom known(wisdom_in_use(wisdom, Environment::read()), cpu_info().device);
  SessionOptions options;
  options.budget_s = search.budget_s;
  options.at_least_one = true;
  options.fill_share = CallersWatcher::fill_share;
  refuse_unnamed("objective", search.objective, Objective::energy_within);
  options.objective = TuneObjective::of(search.objective, search.objective_weight);
  refuse_unnamed("strategy", search.strategy, SearchStrategy::model);
  options.strategy = strategies()[std::size_t(search.strategy)].name;
  options.log = {.path = search.log, .resume = search.resume, .argument = "log"};
  options.store = &store;
  TuneMachine machine(enum_from_string<Isa>(cpu, "cpu"), search.device);
  machine.use_wisdom(&known);
  std::vector<Tuned> tuned;
  CallersWatcher watcher(search, problems, wisdom, tuned);
  TuneSession(std::move(options), product_operations(problems, machine), watcher).run();
  return tuned;
}

}  // namespace

// The strategies are listed in the order of their names' enumerators.
TuneSearch tune_search(const std::string& objective, const std::string& strategy) {
  const TuneObjective asked = TuneObjective::parse(objective);
  TuneSearch search;
  search.objective = asked.goal(), search.objective_weight = asked.number();
  search.strategy = static_cast<SearchStrategy>(&strategy_named(strategy) - strategies().data());
  return search;
}

std::vector<Tuned> tune(Context& context, const std::vector<GemmProblem>& problems,
                        const TuneSearch& search) {
  std::vector<GemmProblem> asked;
  for (const GemmProblem& problem : problems) {
    asked.push_back(as_tuned(problem));
    validate(asked.back());
  }
  auto tuned = search_and_keep(asked, context.cpu(), context.wisdom(), search);
  context.clear_plan_cache();
  return tuned;
}

Tuned tune(Context& context, const GemmProblem& problem, const TuneSearch& search) {
  const auto tuned = tune(context, std::vector{problem}, search);
  if (tuned.empty())
    throw Error(
        ErrorCode::unsupported, "progress",
        fmt::format("progress ended the search for {} before a config was found", to_string(problem)));
  return tuned.front();
}

void install_tuner(Context& context) {
  context.set_tuner([](const TuneRequest& request) {
    TuneSearch search;
    search.budget_s = request.budget_s;
    (void)search_and_keep({request.problem}, request.cpu, request.wisdom, search);
  });
}

}  // namespace tilewright
