// The loop: strategy, halving, contest. Kernels run on the calling thread and its CPU time is the clock.
// Every turn is in the log before the next begins.
#include "tune/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/build_info.hpp"
#include "device/cpu.hpp"
#include "measure/ceilings.hpp"
#include "measure/clock.hpp"
#include "measure/contest.hpp"
#include "measure/observer.hpp"
#include "tune/candidate_timer.hpp"
#include "tune/strategy.hpp"

namespace tilewright {
namespace {

constexpr std::size_t finalist_count = 6;
constexpr double longest_turn_s = 1e-3;
constexpr double shortest_turn_s = 5e-5;
// What a config must gain on the default, and on one that was tuned before.
constexpr double least_gain = 0.005;
constexpr double incumbent_tie = 0.03;
// Shares of the budget that are spent when the strategy ends and when halving ends.
constexpr double strategy_share = 0.5;
constexpr double halving_share = 0.7;
constexpr std::size_t sentinel_interval = 16;
constexpr int wanted_rounds = 12;  // of the contest, more where the budget allows
constexpr std::size_t most_halved = 128;

struct Stopped {};

class Tuner : public Evaluator {
 public:
  Tuner(const GemmProblem& problem, const TuneOptions& options, std::vector<GemmSmallCpuConfig> configs,
        Arena& arena)
      : Evaluator(configs.size()),
        options_(options),
        name_(to_string(problem)),
        timer_(problem, arena),
        kernels_(problem, options.isa, std::move(configs)),
        costs_(kernels_.size()),
        random_(options.seed) {
    result_.problem = problem;
    result_.objective = options.objective;
    result_.default_config = kernels_.config(0);
    result_.candidates = std::int64_t(kernels_.size());
    if (options_.log != nullptr) options_.log->add_base(name_, to_json(kernels_.config(0)));
  }

  TuneResult run(double begin_s) {
    begin_s_ = begin_s;
    try {
      search();
      halve();
      decide();
    } catch (const Stopped&) {
      result_.complete = false;
    }
    result_.tuning_s = wall_seconds() - begin_s_;
    return result_;
  }

  bool more() const override {
    return result_.measured + result_.wrong < result_.candidates && spent() < strategy_share;
  }
  void announce(std::span<const std::size_t> points) override { kernels_.announce(points); }

 private:
  double spent() const { return (wall_seconds() - begin_s_) / options_.budget_s; }

  // Changes from the default: short enough to log with every turn.
  nlohmann::json changes(std::size_t i) const {
    const auto own = to_json(kernels_.config(i)), standard = to_json(result_.default_config);
    auto config = nlohmann::json::object();
    for (const auto& item : own.items())
      if (item.value() != standard[item.key()]) config[item.key()] = item.value();
    return config;
  }

  bool right(std::size_t i) {
    if (options_.log != nullptr)
      if (auto known = options_.log->failure(name_, changes(i).dump()); !known.empty())
        kernels_.set_failure(i, std::move(known));
    return kernels_.kernel(i) != nullptr;
  }

  // From the log if an earlier run measured it, else from the machine and into the log.
  Metrics turn(std::size_t i, const std::string& stage, double turn_s) {
    if (options_.stop && options_.stop()) throw Stopped{};
    const auto config = changes(i);
    if (options_.log != nullptr)
      if (const auto known = options_.log->take(name_, stage, config.dump())) return *known;
    const SmallKernel* kernel = right(i) ? kernels_.kernel(i) : nullptr;
    if (kernel == nullptr)
      throw Error(ErrorCode::internal, "config",
                  fmt::format("{} was timed before and is wrong now: {}", describe(kernels_.config(i)),
                              kernels_.failure(i)));
    Metrics metrics;
    if (options_.objective.needs_energy()) {
      EnergyObserver energy(options_.meter);
      CandidateTimer::Turn timed;
      observe({&energy}, [&](const auto&) {
        timed = timer_.time(*kernel, std::max(turn_s, 2 * options_.meter->shortest_s()));
      });
      metrics = {timed.seconds, energy.joules() / timed.problems};
    } else {
      metrics.seconds = timer_.time(*kernel, turn_s).seconds;
    }
    if (options_.log != nullptr) options_.log->add_turn(name_, stage, config, metrics);
    return metrics;
  }

  double cost_of(const Metrics& metrics) {
    if (!has_anchor_ ||
        (options_.objective.goal() == Goal::energy_within && metrics.seconds < anchor_.seconds))
      anchor_ = metrics, has_anchor_ = true;
    return options_.objective.cost(metrics, anchor_);
  }

  // One turn, over the drift of the machine since the search began: the default is the sentinel.
  double measure(std::size_t i) override {
    if (!right(i)) {
      if (options_.log != nullptr && options_.log->failure(name_, changes(i).dump()).empty())
        options_.log->add_failure(name_, changes(i), kernels_.failure(i));
      ++result_.wrong;
      if (result_.first_wrong.empty())
        result_.first_wrong = describe(kernels_.config(i)) + ": " + kernels_.failure(i);
      return std::numeric_limits<double>::infinity();
    }
    if (i != 0 && sentinel_first_ > 0 && turns_++ % sentinel_interval == 0)
      drift_ = turn(0, "sentinel", turn_s_).seconds / sentinel_first_;
    const Metrics metrics = turn(i, "screen", turn_s_);
    if (i == 0) sentinel_first_ = metrics.seconds;
    ++result_.measured;
    costs_[i].push_back(cost_of(metrics) / drift_);
    return costs_[i].back();
  }

  void search() {
    std::vector<nlohmann::json> configs;
    for (std::size_t i = 0; i < kernels_.size(); ++i) configs.push_back(to_json(kernels_.config(i)));
    const PointSet points(configs);
    const double left_s = options_.budget_s * (strategy_share - spent());
    turn_s_ = std::clamp(left_s / 1.5 / double(kernels_.size()), shortest_turn_s, longest_turn_s / 2);
    const Strategy& strategy = strategy_named(options_.strategy);
    strategy.run({points, 0, options_.seed}, *this);
    for (std::size_t i = 0; i < costs_.size(); ++i)
      if (!costs_[i].empty()) alive_.push_back(i);
    if (alive_.empty())
      throw Error(ErrorCode::internal, "problem",
                  fmt::format("no config of {} is right: {}", name_, result_.first_wrong));
  }

  double centre(std::size_t i) const { return estimate(costs_[i]).centre; }

  void keep_best(std::size_t count) {
    std::stable_sort(alive_.begin(), alive_.end(),
                     [&](std::size_t x, std::size_t y) { return centre(x) < centre(y); });
    alive_.resize(std::min(alive_.size(), count));
  }

  // Rounds over ever fewer candidates, in longer turns: one turn each says too little about neighbours.
  void halve() {
    keep_best(std::min(most_halved, std::max(finalist_count, alive_.size() / 2)));
    double turn_s = std::min(longest_turn_s, 1.5 * turn_s_);
    while (alive_.size() > finalist_count && spent() < halving_share) {
      for (int round = 0; round < 2; ++round) {
        std::shuffle(alive_.begin(), alive_.end(), random_);
        for (const std::size_t i : alive_)
          if (spent() < halving_share) costs_[i].push_back(cost_of(turn(i, "halve", turn_s)));
      }
      keep_best(std::max(finalist_count, alive_.size() / 2));
      turn_s = std::min(longest_turn_s, turn_s * 1.5);
    }
    keep_best(finalist_count);
  }

  // The incumbent, the default, and those that halving left; the incumbent leads.
  std::vector<std::size_t> finalists() {
    std::vector<std::size_t> list;
    const auto add = [&](std::size_t i) {
      if (std::find(list.begin(), list.end(), i) == list.end() && right(i)) list.push_back(i);
    };
    for (std::size_t i = 0; i < kernels_.size(); ++i)
      if (options_.incumbent && kernels_.config(i) == *options_.incumbent) add(i);
    add(0);
    for (const std::size_t i : alive_) add(i);
    return list;
  }

  void decide() {
    const std::vector<std::size_t> list = finalists();
    std::vector<std::vector<double>> seconds(list.size()), joules(list.size());
    const ContestRules rules = contest_rules(
        options_.incumbent && kernels_.config(list.front()) == *options_.incumbent, options_.seed);
    const double left_s = options_.budget_s * (1 - spent());
    const double turn_s =
        std::clamp(left_s / (wanted_rounds) / double(list.size() + 1), shortest_turn_s, 2 * longest_turn_s);
    int rounds = 0;
    const auto clock = clock_observer(), temperature = temperature_observer();
    const std::vector<Observer*> observers = {clock.get(), temperature.get()};
    Verdict verdict;
    observe(observers, [&](const auto& look) {
      verdict = hold_contest(
          list.size(),
          [&](std::size_t i) {
            const Metrics metrics = turn(list[i], "final", turn_s);
            seconds[i].push_back(metrics.seconds);
            if (metrics.joules) joules[i].push_back(*metrics.joules);
            return cost_of(metrics);
          },
          [&] {
            look();
            return rounds++ == 0 || spent() < 1;
          },
          rules);
    });
    for (const Observer* observer : observers) observer->report(result_.metrics);
    if (options_.objective.needs_energy()) result_.metrics["energy_of"] = options_.meter->covers().text();
    report(list, verdict, seconds, joules);
  }

  void report(const std::vector<std::size_t>& list, const Verdict& verdict,
              const std::vector<std::vector<double>>& seconds,
              const std::vector<std::vector<double>>& joules) {
    const std::size_t winner = verdict.winner;
    result_.config = kernels_.config(list[winner]);
    result_.accuracy = kernels_.accuracy(list[winner]);
    result_.seconds = estimate(seconds[winner]);
    if (!joules[winner].empty()) result_.joules = estimate(joules[winner]);
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i] == 0) {
        result_.default_seconds = estimate(seconds[i]);
        result_.regret = verdict.ratios[i].centre / verdict.ratios[winner].centre - 1;
      }
    for (const std::size_t i : verdict.ties) result_.ties.push_back(kernels_.config(list[i]));
    result_.tie = winner == 0 && std::any_of(verdict.ties.begin(), verdict.ties.end(),
                                             [&](std::size_t i) { return verdict.ratios[i].centre < 1; });
    result_.rounds = verdict.rounds;
    result_.discarded_rounds = verdict.discarded;
  }

  const TuneOptions& options_;
  std::string name_;
  double begin_s_ = 0;
  TuneResult result_;
  CandidateTimer timer_;
  CandidateKernels kernels_;
  std::vector<std::vector<double>> costs_;
  std::vector<std::size_t> alive_;
  std::mt19937_64 random_;
  double turn_s_ = shortest_turn_s;
  Metrics anchor_;
  bool has_anchor_ = false;
  double sentinel_first_ = 0;
  double drift_ = 1;
  std::size_t turns_ = 0;
};

}  // namespace

void check_tunable(const GemmProblem& problem, const CandidateRules& rules) {
  check_axes(rules);
  if (problem.location != Location::host)
    throw Error(ErrorCode::unsupported, "location",
                fmt::format("location = {} in {}: only data on the host are tuned for in this build",
                            to_string(problem.location), to_string(problem)));
  if (problem.residency == Residency::automatic)
    throw Error(ErrorCode::invalid_argument, "residency",
                fmt::format("residency = auto in {}: tuning needs cold, l2 or l1", to_string(problem)));
  const std::int64_t largest = std::max({problem.m, problem.n, problem.k});
  if (largest > gemm_small_cpu_limit || std::min({problem.m, problem.n, problem.k}) < 1)
    throw Error(ErrorCode::unsupported, "problem",
                fmt::format("{}: only sizes from 1 to {} have a space to search", to_string(problem),
                            gemm_small_cpu_limit));
  if (problem.layout == Layout::grouped || problem.layout == Layout::variable)
    throw Error(ErrorCode::unsupported, "layout",
                fmt::format("{}: tune the pointer batches that it consists of", to_string(problem)));
}

TuneResult tune(const GemmProblem& problem, const TuneOptions& options, Arena& arena) {
  const double begin_s = wall_seconds();
  check_tunable(problem, options);
  strategy_named(options.strategy);
  if (options.objective.needs_energy() && options.meter == nullptr)
    throw Error(
        ErrorCode::unsupported, "--objective",
        fmt::format("--objective = {} needs an energy meter, and there is none", options.objective.text()));
  if (options.objective.needs_energy() && options.meter->covers().location != problem.location)
    throw Error(
        ErrorCode::unsupported, "--objective",
        fmt::format("--objective = {}: {} runs on the {}, and the meter covers {}", options.objective.text(),
                    to_string(problem), to_string(problem.location), options.meter->covers().text()));
  const GemmProblem timed = timed_problem(problem);
  std::vector<Removed> removed;
  auto configs = candidate_configs(timed, options, &removed);
  if (options.incumbent && std::find(configs.begin(), configs.end(), *options.incumbent) == configs.end() &&
      gemm_small_cpu_space(timed, options.isa).contains(*options.incumbent))
    configs.push_back(*options.incumbent);
  TuneResult result = Tuner(timed, options, std::move(configs), arena).run(begin_s);
  result.removed = std::move(removed);
  return result;
}

ContestRules contest_rules(bool has_incumbent, std::uint64_t seed) {
  ContestRules rules;
  rules.tie = has_incumbent ? incumbent_tie : least_gain;
  rules.seed = seed;
  return rules;
}

std::optional<GemmSmallCpuConfig> incumbent_of(const Wisdom& wisdom, const GemmProblem& problem, Isa isa) {
  for (const WisdomHit& hit : wisdom.lookup(problem, isa))
    if (hit.match == WisdomMatch::exact) return hit.config;
  return std::nullopt;
}

nlohmann::json wisdom_record(const TuneResult& result) {
  nlohmann::json record;
  record["family"] = "gemm_small_cpu";
  record["problem"] = to_string(result.problem);
  record["config"] = to_json(result.config);
  record["device"] = cpu_info().device;
  record["source_hash"] = kernel_source_hash;
  record["compiler"] = build_compiler;
  record["objective"] = result.objective.text();
  record["seconds"] = result.seconds.centre;
  record["seconds_low"] = result.seconds.low;
  record["seconds_high"] = result.seconds.high;
  record["samples"] = result.seconds.samples;
  record["default_seconds"] =
      result.default_seconds.samples > 0 ? nlohmann::json(result.default_seconds.centre) : nlohmann::json();
  if (result.joules) record["energy_j"] = result.joules->centre;
  record["error"] = result.accuracy.error;
  record["error_bound"] = result.accuracy.bound;
  record["metrics"] = result.metrics;
  record["regret"] = result.regret;
  record["tie"] = result.tie;
  record["candidates"] = result.candidates;
  record["verdict"] = "passed";
  record["time"] = time_now();
  return record;
}

}  // namespace tilewright
