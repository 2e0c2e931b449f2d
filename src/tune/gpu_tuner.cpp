// The loop: strategy, then a contest of the best. Device events are steady enough that no halving is needed
// between the two. Every turn is in the log before the next begins.
#include "tune/gpu_tuner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/build_info.hpp"
#include "measure/ceilings.hpp"
#include "measure/clock.hpp"
#include "measure/contest.hpp"
#include "measure/gpu_observer.hpp"
#include "measure/observer.hpp"
#include "tune/gpu_candidates.hpp"
#include "tune/strategy.hpp"

namespace tilewright {
namespace {

constexpr std::size_t finalist_count = 6;
constexpr double screening_turn_s = 1e-3, final_turn_s = 4e-3;
constexpr double strategy_share = 0.8;  // of the budget
// What a config must gain on the default, and on one that was tuned before.
constexpr double least_gain = 0.005, incumbent_tie = 0.02;

struct Stopped {};

class GpuTuner : public Evaluator {
 public:
  GpuTuner(const GemmProblem& problem, const GpuTuneOptions& options, GpuCandidates& candidates,
           double begin_s)
      : Evaluator(candidates.size()),
        options_(options),
        name_(to_string(problem)),
        candidates_(candidates),
        costs_(candidates.size(), std::numeric_limits<double>::infinity()),
        begin_s_(begin_s) {
    result_.problem = problem;
    result_.objective = options.objective;
    result_.default_config = to_json(candidates.config(0));
    result_.candidates = std::int64_t(candidates.size());
    if (options_.log != nullptr) options_.log->add_base(name_, result_.default_config);
  }

  GpuTuneResult run() {
    try {
      search();
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
  void announce(std::span<const std::size_t> points) override { candidates_.announce(points); }

 private:
  double spent() const { return (wall_seconds() - begin_s_) / options_.budget_s; }

  nlohmann::json changes(std::size_t i) const {
    const auto own = to_json(candidates_.config(i));
    auto config = nlohmann::json::object();
    for (const auto& item : own.items())
      if (item.value() != result_.default_config[item.key()]) config[item.key()] = item.value();
    return config;
  }

  bool right(std::size_t i) {
    if (options_.log != nullptr)
      if (auto known = options_.log->failure(name_, changes(i).dump()); !known.empty())
        candidates_.set_failure(i, std::move(known));
    return candidates_.is_right(i);
  }

  // From the log if an earlier run measured it, else from the device and into the log.
  Metrics turn(std::size_t i, const std::string& stage, double turn_s) {
    if (options_.stop && options_.stop()) throw Stopped{};
    const auto config = changes(i);
    if (options_.log != nullptr)
      if (const auto known = options_.log->take(name_, stage, config.dump())) return *known;
    if (!right(i))
      throw Error(ErrorCode::internal, "config",
                  fmt::format("{} was timed before and is wrong now: {}", describe(candidates_.config(i)),
                              candidates_.failure(i)));
    Metrics metrics;
    if (options_.objective.needs_energy()) {
      EnergyObserver energy(options_.meter);
      GpuCandidates::Turn timed;
      observe({&energy}, [&](const auto&) {
        timed = candidates_.time(i, std::max(turn_s, 2 * options_.meter->shortest_s()));
      });
      metrics = {timed.seconds, energy.joules() / timed.problems};
    } else {
      metrics.seconds = candidates_.time(i, turn_s).seconds;
    }
    if (options_.log != nullptr) options_.log->add_turn(name_, stage, config, metrics);
    return metrics;
  }

  double cost_of(const Metrics& metrics) {
    const bool faster = options_.objective.goal() == Goal::energy_within && metrics.seconds < anchor_.seconds;
    if (!has_anchor_ || faster) anchor_ = metrics, has_anchor_ = true;
    return options_.objective.cost(metrics, anchor_);
  }

  double measure(std::size_t i) override {
    if (!right(i)) {
      if (options_.log != nullptr && options_.log->failure(name_, changes(i).dump()).empty())
        options_.log->add_failure(name_, changes(i), candidates_.failure(i));
      ++result_.wrong;
      if (result_.first_wrong.empty())
        result_.first_wrong = describe(candidates_.config(i)) + ": " + candidates_.failure(i);
      return costs_[i];
    }
    ++result_.measured;
    return costs_[i] = cost_of(turn(i, "screen", screening_turn_s));
  }

  void search() {
    std::vector<nlohmann::json> configs;
    for (std::size_t i = 0; i < candidates_.size(); ++i) configs.push_back(to_json(candidates_.config(i)));
    const PointSet points(configs);
    strategy_named(options_.strategy).run({points, 0, options_.seed}, *this);
    if (result_.measured == 0)
      throw Error(ErrorCode::internal, "problem",
                  fmt::format("no config of {} is right: {}", name_, result_.first_wrong));
  }

  // The incumbent, the default and the best of the search; the incumbent leads.
  std::vector<std::size_t> finalists() {
    std::vector<std::size_t> order, list;
    for (std::size_t i = 0; i < costs_.size(); ++i)
      if (std::isfinite(costs_[i])) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return costs_[x] < costs_[y]; });
    order.resize(std::min(order.size(), finalist_count));
    const auto add = [&](std::size_t i) {
      if (std::find(list.begin(), list.end(), i) == list.end() && right(i)) list.push_back(i);
    };
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (options_.incumbent && candidates_.config(i) == *options_.incumbent) add(i);
    add(0);
    for (const std::size_t i : order) add(i);
    return list;
  }

  void decide() {
    const std::vector<std::size_t> list = finalists();
    std::vector<std::vector<double>> seconds(list.size()), joules(list.size());
    ContestRules rules;
    const bool has_incumbent = options_.incumbent && candidates_.config(list.front()) == *options_.incumbent;
    rules.tie = has_incumbent ? incumbent_tie : least_gain;
    rules.seed = options_.seed;
    int rounds = 0;
    const auto timed = [&](std::size_t i) {
      const Metrics metrics = turn(list[i], "final", final_turn_s);
      seconds[i].push_back(metrics.seconds);
      if (metrics.joules) joules[i].push_back(*metrics.joules);
      return cost_of(metrics);
    };
    GpuObserver gpu(candidates_.device_uuid());
    Verdict verdict;
    observe({&gpu}, [&](const auto& look) {
      const auto more = [&] {
        look();
        return rounds++ < 7 || spent() < 1;
      };
      verdict = hold_contest(list.size(), timed, more, rules);
    });
    const std::size_t winner = verdict.winner;
    gpu.report(result_.metrics);
    result_.metrics["error_over_bound"] = candidates_.error(list[winner]);
    if (options_.objective.needs_energy()) result_.metrics["energy_of"] = options_.meter->covers().text();
    result_.config = to_json(candidates_.config(list[winner]));
    result_.seconds = estimate(seconds[winner]);
    if (!joules[winner].empty()) result_.joules = estimate(joules[winner]);
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i] == 0) {
        result_.default_seconds = estimate(seconds[i]);
        result_.regret = verdict.ratios[i].centre / verdict.ratios[winner].centre - 1;
      }
    for (const std::size_t i : verdict.ties) result_.ties.push_back(to_json(candidates_.config(list[i])));
    result_.tie = winner == 0 && std::any_of(verdict.ties.begin(), verdict.ties.end(),
                                             [&](std::size_t i) { return verdict.ratios[i].centre < 1; });
    result_.rounds = verdict.rounds;
    result_.discarded_rounds = verdict.discarded;
  }

  const GpuTuneOptions& options_;
  std::string name_;
  GpuCandidates& candidates_;
  std::vector<double> costs_;
  double begin_s_ = 0;
  Metrics anchor_;
  bool has_anchor_ = false;
  GpuTuneResult result_;
};

// Batches of the whole arena, so that no cache holds any of it.
GemmProblem timed_problem_on(const GpuArena& arena, GemmProblem p) {
  const std::int64_t size = size_bytes(p.dtype);
  const std::int64_t largest =
      std::max({p.lda * p.a_cols(), p.ldb * p.b_cols(), p.ldc * p.n, p.stride_a, p.stride_b, p.stride_c});
  p.batch_count = p.layout == Layout::single ? 1 : std::int64_t(arena.operand_bytes()) / (largest * size);
  p.residency = Residency::cold;
  return p;
}

}  // namespace

void check_gpu_tunable(const GemmProblem& p) {
  if (p.layout != Layout::strided)
    throw Error(ErrorCode::unsupported, "layout",
                fmt::format("{}: only strided batches are tuned for on the GPU so far", to_string(p)));
  if (p.residency == Residency::l1 || p.residency == Residency::l2)
    throw Error(ErrorCode::unsupported, "residency",
                fmt::format("{}: on the GPU operands are taken from device memory (cold)", to_string(p)));
  if (std::max({p.m, p.n, p.k}) > gemm_small_limit || std::min({p.m, p.n, p.k}) < 1)
    throw Error(
        ErrorCode::unsupported, "problem",
        fmt::format("{}: only sizes from 1 to {} have a space to search", to_string(p), gemm_small_limit));
}

GpuTuneResult gpu_tune(const GemmProblem& problem, const StencilCompiler& compiler,
                       const GpuTuneOptions& options, GpuArena& arena) {
  const double begin_s = wall_seconds();
  check_gpu_tunable(problem);
  strategy_named(options.strategy);
  if (options.objective.needs_energy() && options.meter == nullptr)
    throw Error(ErrorCode::unsupported, "--objective",
                fmt::format("--objective = {} needs an energy meter of the GPU, and there is none",
                            options.objective.text()));
  const GpuLimits& limits = arena.gpu().limits();
  if (options.objective.needs_energy() && options.meter->covers().uuid != limits.uuid)
    throw Error(ErrorCode::unsupported, "--objective",
                fmt::format("--objective = {}: {} runs on the GPU {}, and the meter covers {}",
                            options.objective.text(), to_string(problem), limits.uuid,
                            options.meter->covers().text()));
  const GemmProblem timed = timed_problem_on(arena, problem);
  auto configs = gpu_candidate_configs(timed, limits, options.whole_space, options.choices,
                                       options.conditions, options.seed);
  if (options.incumbent && std::find(configs.begin(), configs.end(), *options.incumbent) == configs.end() &&
      gemm_small_space(gemm_small_shape(timed, 128), timed.dtype, limits).contains(*options.incumbent))
    configs.push_back(*options.incumbent);
  GpuCandidates candidates(timed, compiler, std::move(configs), arena);
  GpuTuneResult result = GpuTuner(timed, options, candidates, begin_s).run();
  result.device = limits.name;
  result.device_uuid = limits.uuid;
  result.driver = limits.driver_version;
  result.compiler = compiler.nvrtc().version();
  return result;
}

nlohmann::json wisdom_record(const GpuTuneResult& result) {
  nlohmann::json record;
  record["family"] = "gemm_small";
  record["problem"] = to_string(result.problem);
  record["config"] = result.config;
  record["device"] = result.device;
  record["driver"] = result.driver;
  record["source_hash"] = gpu_kernel_source_hash;
  record["compiler"] = result.compiler;
  record["objective"] = result.objective.text();
  record["seconds"] = result.seconds.centre;
  record["seconds_low"] = result.seconds.low;
  record["seconds_high"] = result.seconds.high;
  record["samples"] = result.seconds.samples;
  const bool has_default = result.default_seconds.samples > 0;
  record["default_seconds"] = has_default ? nlohmann::json(result.default_seconds.centre) : nlohmann::json();
  if (result.joules) record["energy_j"] = result.joules->centre;
  record["metrics"] = result.metrics;
  record["regret"] = result.regret;
  record["tie"] = result.tie;
  record["candidates"] = result.candidates;
  record["verdict"] = "passed";
  record["time"] = time_now();
  return record;
}

}  // namespace tilewright
