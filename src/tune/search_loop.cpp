// Strategy, halving, contest. Each turn and each verdict of the gate is logged before the next begins.
#include "tune/search_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

#include "measure/contest.hpp"
#include "tune/strategy/strategy.hpp"

namespace tilewright {
namespace {

constexpr std::size_t finalist_count = 6, least_finalists = 2;
constexpr std::size_t sentinel_interval = 16;
constexpr std::size_t most_halved = 128;
constexpr std::size_t most_wrongs_kept = 64;
constexpr int wanted_rounds = 12;  // of the contest, more where the budget allows
// With energy: fractions of the budget at the end of screening and of weighing.
constexpr double energy_screening_share = 0.3, energy_share_of_budget = 0.5;
constexpr std::size_t most_metered = 24;

struct Stopped {};

// The origin of later turns in the log.
nlohmann::json origin_keys(const Origin& origin) {
  return {
      {"device", origin.device}, {"device_uuid", origin.device_uuid}, {"source_hash", origin.source_hash}};
}

class SearchLoop : public Evaluator {
 public:
  SearchLoop(const std::string& subject, CheckedPool& pool, const SearchOptions& options,
             const SearchPace& pace, std::optional<std::size_t> incumbent, double begin_s)
      : Evaluator(pool.size()),
        pool_(pool),
        options_(options),
        pace_(pace),
        incumbent_(incumbent),
        begin_s_(begin_s),
        name_(subject),
        standard_(pool.fields(0)),
        seen_(pool.size()),
        logged_(pool.size() + pool.peer_count(), false),
        random_(options.seed) {
    outcome_.subject = subject;
    outcome_.objective = options.objective;
    outcome_.candidates = std::int64_t(pool.size());
    if (options_.log != nullptr) options_.log->add_base(name_, standard_, origin_keys(pool_.origin()));
  }

  SearchOutcome run() {
    try {
      try_candidates();
      if (needs_energy())
        measure_energy();
      else
        halve();
      decide();
    } catch (const Stopped&) {
      outcome_.complete = false;
    }
    outcome_.tuning_s = options_.clock.now() - begin_s_;
    return std::move(outcome_);
  }

  // At least one candidate is measured, whatever the budget.
  bool more() const override {
    return outcome_.measured + outcome_.wrong < outcome_.candidates &&
           (outcome_.measured == 0 || spent() < screening_share());
  }
  void announce(std::span<const std::size_t> points) override { pool_.announce(points); }

 private:
  bool needs_energy() const { return options_.objective.needs_energy(); }
  double shortest_energy_s() const {
    return std::max(options_.window_s, pool_.shortest_energy_s(*options_.meter));
  }
  double screening_share() const { return needs_energy() ? energy_screening_share : pace_.strategy_share; }
  double spent() const { return (options_.clock.now() - begin_s_) / options_.budget_s; }
  double left_s(double share) const { return options_.budget_s * (share - spent()); }

  bool is_peer(std::size_t i) const { return i >= pool_.size(); }
  std::string peer_of(std::size_t i) const { return is_peer(i) ? pool_.peer_name(i) : ""; }

  // Changes from the default, which are short enough to log with every turn.
  nlohmann::json changes(std::size_t i) const {
    const auto own = pool_.fields(i);
    if (is_peer(i)) return own;
    auto config = nlohmann::json::object();
    for (const auto& item : own.items())
      if (item.value() != standard_[item.key()]) config[item.key()] = item.value();
    return config;
  }

  // The gate's verdict, from the log of an earlier run or else new and logged.
  bool right(std::size_t i) {
    SweepLog* log = options_.log;
    if (log == nullptr || logged_[i]) return pool_.is_right(i);
    logged_[i] = true;
    const auto config = changes(i);
    if (auto known = log->failure(name_, config.dump()); !known.empty()) {
      pool_.set_failure(i, std::move(known));
      return false;
    }
    if (const auto known = log->passed(name_, config.dump())) {
      pool_.set_passed(i, *known);
      return true;
    }
    const bool is_right = pool_.is_right(i);
    if (is_right)
      log->add_passed(name_, config, pool_.accuracy(i));
    else
      log->add_failure(name_, config, pool_.failure(i), peer_of(i));
    return is_right;
  }

  // A turn, from the log of an earlier run or else measured and logged.
  Metrics turn(std::size_t i, const std::string& stage, double turn_s) {
    if (options_.stop && options_.stop()) throw Stopped{};
    const auto config = changes(i);
    if (options_.log != nullptr)
      if (const auto known = options_.log->take(name_, stage, config.dump())) return *known;
    if (!right(i))
      throw Error(ErrorCode::internal, "config",
                  fmt::format("{} was timed before and is wrong now: {}", config.dump(), pool_.failure(i)));
    const double before_s = options_.clock.now();
    const bool metered = needs_energy() && (stage == "weigh" || stage == "final");
    const Metrics metrics = metered ? pool_.time_with_energy(i, turn_s, *options_.meter)
                                    : Metrics{pool_.time(i, turn_s).seconds, std::nullopt};
    options_.clock.count(std::max(turn_s, pace_.shortest_turn_s));
    beyond_turn_s_ += (std::max(0.0, options_.clock.now() - before_s - turn_s) - beyond_turn_s_) / 8;
    if (options_.log != nullptr) options_.log->add_turn(name_, stage, config, metrics, peer_of(i));
    return metrics;
  }

  // One turn of the search, divided by the drift of the machine; the default is the sentinel.
  void look(std::size_t i, const std::string& stage, double turn_s) {
    if (i != 0 && sentinel_first_ > 0 && turns_++ % sentinel_interval == 0)
      drift_ = turn(0, "sentinel", turn_s).seconds / sentinel_first_;
    Metrics metrics = turn(i, stage, turn_s);
    if (i == 0 && sentinel_first_ == 0) sentinel_first_ = metrics.seconds;
    metrics.seconds /= drift_;
    seen_[i].push_back(metrics);
  }

  // The strategy minimises time, whatever the objective: turns with energy take a second.
  double measure(std::size_t i) override {
    if (!right(i)) return refuse(i);
    look(i, "screen", turn_s_);
    ++outcome_.measured;
    return seen_[i].back().seconds;
  }

  double refuse(std::size_t i) {
    ++outcome_.wrong;
    if (outcome_.first_wrong.empty()) outcome_.first_wrong = changes(i).dump() + ": " + pool_.failure(i);
    if (outcome_.wrongs.size() < most_wrongs_kept)
      outcome_.wrongs.push_back({pool_.fields(i), pool_.failure(i)});
    return std::numeric_limits<double>::infinity();
  }

  void try_candidates() {
    std::vector<nlohmann::json> configs;
    for (std::size_t i = 0; i < pool_.size(); ++i) configs.push_back(pool_.fields(i));
    const PointSet points(configs);
    turn_s_ = std::clamp(left_s(screening_share()) / 1.5 / double(pool_.size()), pace_.shortest_turn_s,
                         pace_.longest_screening_s);
    strategy_named(options_.strategy).run({points, 0, options_.seed}, *this);
    for (std::size_t i = 0; i < seen_.size(); ++i)
      if (!seen_[i].empty()) alive_.push_back(i);
    if (alive_.empty())
      throw Error(ErrorCode::internal, "problem",
                  fmt::format("no config of {} passes the check: {}", name_, outcome_.first_wrong));
  }

  // The centre of a candidate's turns.
  Metrics centre(std::size_t i) const {
    std::vector<double> seconds, joules;
    for (const Metrics& one : seen_[i]) {
      seconds.push_back(one.seconds);
      if (one.joules) joules.push_back(*one.joules);
    }
    Metrics middle{estimate(seconds).centre, std::nullopt};
    if (!joules.empty()) middle.joules = estimate(joules).centre;
    return middle;
  }

  void keep_best(std::size_t count, const TuneObjective& objective) {
    std::vector<Metrics> centres;
    for (const std::size_t i : alive_) centres.push_back(centre(i));
    const std::vector<double> costs = objective.costs(centres, anchor_);
    std::vector<std::size_t> order(alive_.size()), best;
    for (std::size_t x = 0; x < order.size(); ++x) order[x] = x;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return costs[x] < costs[y]; });
    order.resize(std::min(order.size(), count));
    for (const std::size_t x : order) best.push_back(alive_[x]);
    alive_ = std::move(best);
  }

  // Rounds over ever fewer candidates in longer turns: single turns cannot separate neighbours.
  void halve() {
    const TuneObjective time;
    if (pace_.halving_share > pace_.strategy_share) {
      keep_best(std::min(most_halved, std::max(finalist_count, alive_.size() / 2)), time);
      double turn_s = std::min(pace_.longest_halving_s, 1.5 * turn_s_);
      while (alive_.size() > finalist_count && spent() < pace_.halving_share) {
        for (int round = 0; round < 2; ++round) {
          std::shuffle(alive_.begin(), alive_.end(), random_);
          for (const std::size_t i : alive_)
            if (spent() < pace_.halving_share) look(i, "halve", turn_s);
        }
        keep_best(std::max(finalist_count, alive_.size() / 2), time);
        turn_s = std::min(pace_.longest_halving_s, turn_s * 1.5);
      }
    }
    keep_best(finalist_count, time);
  }

  // With energy: measures each fast candidate's energy once, first the default, which normalises the values.
  void measure_energy() {
    const double turn_s = shortest_energy_s();
    // May be too large for an index: a meter without a shortest time has turns of length 0.
    const double affordable = turn_s > 0 ? left_s(energy_share_of_budget) / turn_s : double(most_metered);
    keep_best(std::size_t(std::clamp(affordable, double(least_finalists), double(most_metered))),
              TuneObjective());
    std::vector<std::size_t> list = std::exchange(alive_, {});
    if (right(0)) {
      std::erase(list, 0u);
      list.insert(list.begin(), 0);
    }
    for (auto& looks : seen_) looks.clear();  // of short turns, at other clocks
    for (const std::size_t i : list) {
      if (alive_.size() >= least_finalists && spent() >= energy_share_of_budget) break;
      seen_[i].push_back(turn(i, "weigh", turn_s));
      alive_.push_back(i);
    }
    anchor_ = seen_[list.front()].front();
    keep_best(finalist_count, options_.objective);
  }

  // The incumbent, the default, and the survivors of halving.
  std::vector<std::size_t> finalists() {
    std::vector<std::size_t> list;
    const auto add = [&](std::size_t i) {
      if (std::find(list.begin(), list.end(), i) == list.end() && right(i)) list.push_back(i);
    };
    if (incumbent_) add(*incumbent_);
    add(0);
    for (const std::size_t i : alive_) add(i);
    return list;
  }

  // The right peers.
  std::vector<std::size_t> peers() {
    std::vector<std::size_t> list;
    for (std::size_t i = pool_.size(); i < logged_.size(); ++i)
      if (right(i))
        list.push_back(i);
      else
        outcome_.peers_left_out.push_back(fmt::format("{}: {}", pool_.peer_name(i), pool_.failure(i)));
    return list;
  }

  // The turn length for the wanted rounds in the remaining budget. Drops the worst finalists if none fits.
  double fit(std::vector<std::size_t>& list, std::size_t peer_count) const {
    const double left = left_s(1);
    const auto turns = [&] { return double(list.size() + peer_count + 1); };
    const double shortest = needs_energy() ? shortest_energy_s() : pace_.shortest_turn_s;
    const double longest = needs_energy() ? 3 * shortest : pace_.longest_final_s;
    const auto turn_s = [&] {
      return std::clamp(left / wanted_rounds / turns() - beyond_turn_s_, shortest, longest);
    };
    // One more round, because the first may be discarded.
    const auto too_many = [&] {
      return (least_paired_rounds + 1) * turns() * (turn_s() + beyond_turn_s_) > left;
    };
    while (list.size() > least_finalists && too_many()) list.pop_back();
    return turn_s();
  }

  void decide() {
    std::vector<std::size_t> list = finalists();
    const std::vector<std::size_t> rivals = peers();
    const double turn_s = fit(list, rivals.size());
    list.insert(list.end(), rivals.begin(), rivals.end());
    const TuneObjective& objective = options_.objective;
    std::vector<std::vector<double>> seconds(list.size()), joules(list.size());
    ContestRules rules;
    rules.tie = incumbent_ && list.front() == *incumbent_ ? pace_.incumbent_tie : least_gain;
    rules.seed = options_.seed;
    rules.may_win = [&](std::size_t i) {
      if (is_peer(list[i])) return false;
      double fastest_s = std::numeric_limits<double>::infinity();
      for (const auto& samples : seconds) fastest_s = std::min(fastest_s, estimate(samples).centre);
      return estimate(seconds[i]).centre <= objective.slowest_s(fastest_s);
    };
    const auto one_turn = [&](std::size_t i) {
      const Metrics metrics = turn(list[i], "final", turn_s);
      seconds[i].push_back(metrics.seconds);
      if (metrics.joules) joules[i].push_back(*metrics.joules);
      return objective.contest_cost(metrics, anchor_);
    };
    const auto watching = pool_.observers();
    std::vector<Observer*> observers;
    for (const auto& one : watching) observers.push_back(one.get());
    Verdict verdict;
    observe(observers, [&](const auto& watch) {
      int begun = 0;
      verdict = hold_contest(
          list.size(), one_turn,
          [&] {
            watch();
            return begun++ == 0 || spent() < 1;
          },
          rules);
    });
    for (const Observer* observer : observers) observer->report(outcome_.metrics);
    if (objective.needs_energy()) outcome_.metrics["energy_of"] = options_.meter->covers().text();
    report(list, verdict, seconds, joules);
  }

  void report(const std::vector<std::size_t>& list, const Verdict& verdict,
              const std::vector<std::vector<double>>& seconds,
              const std::vector<std::vector<double>>& joules) {
    const std::size_t winner = verdict.winner;
    outcome_.winner = list[winner];
    outcome_.accuracy = pool_.accuracy(list[winner]);
    outcome_.seconds = estimate(seconds[winner]);
    if (!joules[winner].empty()) outcome_.joules = estimate(joules[winner]);
    const auto ratio = [&](std::size_t i) { return verdict.ratios[i].centre; };
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i] == 0) {
        outcome_.default_seconds = estimate(seconds[i]);
        if (verdict.rounds > 0) outcome_.regret = ratio(i) / ratio(winner) - 1;
      }
    for (const std::size_t i : verdict.ties) outcome_.tied.push_back(list[i]);
    outcome_.tie = winner == 0 && std::any_of(verdict.ties.begin(), verdict.ties.end(),
                                              [&](std::size_t i) { return ratio(i) < 1; });
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!is_peer(list[i])) continue;
      PeerOutcome peer{pool_.peer_name(list[i]), pool_.fields(list[i]), estimate(seconds[i]), {},
                       pool_.accuracy(list[i]),  std::nullopt};
      if (!joules[i].empty()) peer.joules = estimate(joules[i]);
      if (verdict.decided) peer.regret = ratio(winner) / ratio(i) - 1;
      outcome_.peers.push_back(std::move(peer));
    }
    outcome_.decided = verdict.decided || list.size() == outcome_.peers.size() + 1;
    outcome_.rounds = verdict.rounds;
    outcome_.discarded_rounds = verdict.discarded;
  }

  CheckedPool& pool_;
  const SearchOptions& options_;
  const SearchPace& pace_;
  std::optional<std::size_t> incumbent_;
  double begin_s_ = 0;
  std::string name_;
  nlohmann::json standard_;
  SearchOutcome outcome_;
  std::vector<std::vector<Metrics>> seen_;  // of each candidate, corrected for drift
  std::vector<bool> logged_;                // the gate's verdict is in the log
  std::vector<std::size_t> alive_;
  std::mt19937_64 random_;
  double turn_s_ = 0;
  double beyond_turn_s_ = 0;  // wall time of recent turns beyond their nominal length
  Metrics anchor_;
  double sentinel_first_ = 0;
  double drift_ = 1;
  std::size_t turns_ = 0;
};

}  // namespace

void check_search(const SearchOptions& options, Location location, const std::string& uuid) {
  strategy_named(options.strategy);
  if (!options.objective.needs_energy()) return;
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorCode::unsupported, "objective",
                fmt::format("objective = {}{}", options.objective.text(), reason));
  };
  const bool on_gpu = location == Location::device;
  if (options.meter == nullptr)
    refuse(fmt::format(" needs an energy meter{}, but there is none", on_gpu ? " of the GPU" : ""));
  const EnergyCoverage covers = options.meter->covers();
  if (covers.location != location || covers.uuid != uuid)
    refuse(fmt::format(": the problem runs on the {}{}, but the meter covers {}",
                       on_gpu ? "GPU " : to_string(location), uuid, covers.text()));
}

SearchOutcome search(const std::string& subject, CheckedPool& pool, const SearchOptions& options,
                     const SearchPace& pace, std::optional<std::size_t> incumbent, double begin_s) {
  return SearchLoop(subject, pool, options, pace, incumbent, begin_s).run();
}

}  // namespace tilewright
