// The CPU's pool of candidates. Kernels run on the calling thread and its CPU time is the clock.
#include "tune/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/build_info.hpp"
#include "device/cpu.hpp"
#include "measure/clock.hpp"
#include "tune/kernel_timer.hpp"

namespace tilewright {
namespace {

constexpr SearchPace pace{.shortest_turn_s = 5e-5,
                          .longest_screening_s = 5e-4,
                          .longest_halving_s = 1e-3,
                          .longest_final_s = 2e-3,
                          .strategy_share = 0.5,
                          .halving_share = 0.7,
                          .incumbent_tie = 0.03};

class CpuPool : public ConfigPool {
 public:
  CpuPool(const GemmProblem& problem, const TuneOptions& options, std::vector<GemmSmallCpuConfig> configs,
          Arena& arena)
      : timer_(problem, arena, options.ring_bytes), kernels_(problem, options.isa, std::move(configs)) {}

  std::size_t size() const override { return kernels_.size(); }
  nlohmann::json fields(std::size_t i) const override { return to_json(kernels_.config(i)); }
  nlohmann::json origin() const override {
    return {{"device", cpu_info().device}, {"device_uuid", ""}, {"source_hash", gemm_small_cpu_source_hash}};
  }
  const GemmSmallCpuConfig& config(std::size_t i) const { return kernels_.config(i); }
  void announce(std::span<const std::size_t> wanted) override { kernels_.announce(wanted); }
  bool is_right(std::size_t i) override { return kernels_.is_right(i); }
  const std::string& failure(std::size_t i) const override { return kernels_.failure(i); }
  const Accuracy& accuracy(std::size_t i) const override { return kernels_.accuracy(i); }
  void set_failure(std::size_t i, std::string reason) override { kernels_.set_failure(i, std::move(reason)); }
  void set_passed(std::size_t i, const Accuracy& accuracy) override { kernels_.set_passed(i, accuracy); }

  TurnTimer::Turn time(std::size_t i, double turn_s) override {
    const GemmSmallCpuKernel* kernel = kernels_.kernel(i);
    if (kernel == nullptr)
      throw Error(ErrorCode::internal, "config",
                  fmt::format("{} passed the gate before and cannot be made now: {}",
                              describe(kernels_.config(i)), kernels_.failure(i)));
    return timer_.time(*kernel, turn_s);
  }
  std::vector<std::unique_ptr<Observer>> observers() const override {
    std::vector<std::unique_ptr<Observer>> all;
    all.push_back(clock_observer());
    all.push_back(temperature_observer());
    return all;
  }

 private:
  KernelTimer timer_;
  ConfigKernels kernels_;
};

Origin origin() {
  return {"gemm_small_cpu", cpu_info().device, "", "", gemm_small_cpu_source_hash, build_compiler};
}

}  // namespace

void check_tunable(const GemmProblem& problem, const ConfigRules& rules) {
  check_axes<GemmSmallCpuConfig>(rules);
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
  check_search(options, problem);
  const GemmProblem timed = timed_problem(problem);
  TuneResult result;
  auto configs = candidate_configs(timed, options, &result.removed);
  const std::optional<std::size_t> incumbent = place_of(options.incumbent, configs, [&](const auto& config) {
    return gemm_small_cpu_space(timed, options.isa).contains(config);
  });
  CpuPool pool(timed, options, std::move(configs), arena);
  static_cast<SearchOutcome&>(result) = search(timed, pool, options, pace, incumbent, begin_s);
  result.config = pool.config(result.winner);
  result.default_config = pool.config(0);
  for (const std::size_t i : result.tied) result.ties.push_back(pool.config(i));
  return result;
}

ContestRules contest_rules(bool has_incumbent, std::uint64_t seed) {
  ContestRules rules;
  rules.tie = has_incumbent ? pace.incumbent_tie : least_gain;
  rules.seed = seed;
  return rules;
}

std::optional<GemmSmallCpuConfig> incumbent_of(const Wisdom& wisdom, const GemmProblem& problem, Isa isa,
                                               const TuneObjective& objective) {
  for (const WisdomHit& hit : wisdom.lookup(problem, isa, objective.text()))
    if (hit.match == WisdomMatch::exact) return hit.config;
  return std::nullopt;
}

nlohmann::json wisdom_record(const TuneResult& result) {
  return winner_record(result, origin(), to_json(result.config));
}
std::vector<nlohmann::json> wrong_records(const TuneResult& result) {
  return wrong_records(result, origin());
}

}  // namespace tilewright
