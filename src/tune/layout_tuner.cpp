// Blocks as contestants: a turn of one converts in, multiplies and converts out, each over batches of its own
// turn, so that no part finds what another has just brought into the caches.
#include "tune/layout_tuner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device/cpu.hpp"
#include "measure/accuracy.hpp"
#include "measure/ceilings.hpp"
#include "measure/contest.hpp"
#include "measure/conversion.hpp"
#include "measure/operands.hpp"
#include "tune/kernel_timer.hpp"
#include "tune/tuner.hpp"

namespace tilewright {
namespace {

constexpr double contest_share =
    0.6;  // of the budget; the rest measures the winner beside multiplying in place
constexpr int contest_rounds = 12, wanted_samples = 11;
constexpr double shortest_turn_s = 2e-4, longest_turn_s = 4e-3;

struct StopAsked {};

// The config that a call on this problem would be given.
GemmSmallCpuConfig config_for(const GemmProblem& problem, const LayoutTuneOptions& options) {
  const auto space = gemm_small_cpu_space(problem, options.isa);
  if (options.wisdom != nullptr)
    if (const auto hit = options.wisdom->find(problem, options.isa,
                                              [&](const auto& config) { return space.contains(config); }))
      return hit->config;
  return gemm_small_cpu_default(problem, options.isa);
}

// The blocks of the space that a batch of so many problems can be cut into.
Space<LayoutConfig> blocks_of(DType dtype, std::int64_t batch_count) {
  auto space = layout_space(dtype);
  space.require("the batch that is timed holds a whole block",
                [batch_count](const LayoutConfig& c) { return c.block <= batch_count; });
  return space;
}

// Batches of whole blocks of every candidate, so that none is measured with padding; at least one block.
GemmProblem convertible_problem(const GemmProblem& problem) {
  GemmProblem timed = timed_problem(problem);
  std::int64_t largest = layout_default(problem.dtype).block;
  blocks_of(problem.dtype, timed.batch_count).visit([&](const LayoutConfig& c) {
    largest = std::max(largest, c.block);
  });
  timed.batch_count = std::max(largest, timed.batch_count / largest * largest);
  return timed;
}

std::int64_t rounds_of(const GemmProblem& problem) { return batches_for(problem, problem.residency, 1); }

std::vector<Operands> batches_of(const OperandSet& set) {
  std::vector<Operands> batches;
  for (std::int64_t batch = 0; batch < set.batches(); ++batch) batches.push_back(set.batch(batch));
  return batches;
}

// A batch in place and in blocks of one size, with the kernels of both.
class Block {
 public:
  Block(const GemmProblem& from, LayoutConfig config, const LayoutTuneOptions& options,
        const std::vector<Operands>& from_batches, Arena& arena)
      : from_(from),
        to_(interleaved_problem(from, config.block)),
        kernel_(make_gemm_small_cpu(to_, config_for(to_, options))),
        call_(to_),
        conversion_(from, to_, 1),
        from_batches_(from_batches),
        set_(arena, to_, std::ssize(from_batches)),
        batches_(batches_of(set_)),
        timers_(3, {from.residency != Residency::cold, std::ssize(batches_), from.batch_count}) {}

  enum Part : std::size_t { in, multiply, out };
  static constexpr std::array<const char*, 3> names = {"convert_in", "interleaved", "convert_out"};

  void run(Part part, std::int64_t batch) const {
    const Operands &f = from_batches_[std::size_t(batch)], &t = batches_[std::size_t(batch)];
    if (part == in) conversion_.in(f, t);
    if (part == multiply) call_.run(*kernel_, t, from_.batch_count);
    if (part == out) conversion_.out(t, f);
  }
  double time(Part part, double turn_s) {
    return timers_[part].time([&](std::int64_t batch) { run(part, batch); }, turn_s).seconds;
  }

  // "" when a converted multiplication gives what the reference gives.
  std::string check() const {
    const AccuracyCheck check(from_, from_batches_.front(), representative(from_.alpha),
                              representative(from_.beta));
    check.restore();
    for (const Part part : {in, multiply, out}) run(part, 0);
    const Accuracy accuracy = check.compare();
    check.finish();
    if (!accuracy.gaps_intact) return "it writes outside C";
    if (accuracy.passed()) return "";
    return fmt::format("error {:.3g} above bound {:.3g}", accuracy.error, accuracy.bound);
  }

 private:
  GemmProblem from_, to_;
  std::shared_ptr<const GemmSmallCpuKernel> kernel_;
  KernelCall call_;
  BatchConversion conversion_;
  const std::vector<Operands>& from_batches_;
  OperandSet set_;
  std::vector<Operands> batches_;
  std::vector<TurnTimer> timers_;
};

class LayoutTuner {
 public:
  LayoutTuner(const GemmProblem& problem, const LayoutTuneOptions& options, Arena& arena, Arena& interleaved)
      : options_(options),
        name_(to_string(problem)),
        direct_(problem, arena),
        direct_kernel_(make_gemm_small_cpu(problem, config_for(problem, options))),
        set_(arena, problem, rounds_of(problem)),
        batches_(batches_of(set_)) {
    result_.problem = problem;
    result_.default_config = layout_default(problem.dtype);
    for (const LayoutConfig& config : candidates()) add(config, interleaved);
    if (blocks_.empty())
      throw Error(ErrorCode::internal, "problem",
                  fmt::format("no block of {} is right: {}", name_, result_.first_wrong));
  }

  LayoutTuneResult run(double begin_s) {
    begin_s_ = begin_s;
    try {
      measure_costs(decide());
    } catch (const StopAsked&) {
      result_.complete = false;
    }
    result_.tuning_s = wall_seconds() - begin_s_;
    return result_;
  }

 private:
  // The incumbent first, then the default, then the others.
  std::vector<LayoutConfig> candidates() {
    std::vector<LayoutConfig> configs;
    if (options_.incumbent) configs.push_back(*options_.incumbent);
    configs.push_back(result_.default_config);
    blocks_of(result_.problem.dtype, result_.problem.batch_count)
        .visit([&](const LayoutConfig& config) { configs.push_back(config); }, {}, &result_.removed);
    std::vector<LayoutConfig> distinct;
    for (const LayoutConfig& config : configs)
      if (std::find(distinct.begin(), distinct.end(), config) == distinct.end()) distinct.push_back(config);
    result_.candidates = std::ssize(distinct);
    return distinct;
  }

  void add(const LayoutConfig& config, Arena& interleaved) {
    auto block = std::make_unique<Block>(result_.problem, config, options_, batches_, interleaved);
    if (const auto wrong = block->check(); !wrong.empty()) {
      if (options_.log != nullptr) options_.log->add_failure(name_, to_json(config), wrong);
      ++result_.wrong;
      if (result_.first_wrong.empty()) result_.first_wrong = fmt::format("block={}: {}", config.block, wrong);
      return;
    }
    configs_.push_back(config);
    blocks_.push_back(std::move(block));
  }

  double spent() const { return (wall_seconds() - begin_s_) / options_.budget_s; }

  // From the log if an earlier run measured it, else from the machine and into the log.
  template <class Time>
  double turn(const std::string& stage, const nlohmann::json& config, Time&& time) {
    if (options_.stop && options_.stop()) throw StopAsked{};
    if (options_.log != nullptr)
      if (const auto known = options_.log->take(name_, stage, config.dump())) return known->seconds;
    const double seconds = time();
    if (options_.log != nullptr) options_.log->add_turn(name_, stage, config, {seconds, std::nullopt});
    return seconds;
  }

  double part(std::size_t i, Block::Part what, const std::string& stage) {
    return turn(fmt::format("{} {}", stage, Block::names[what]), to_json(configs_[i]),
                [&] { return blocks_[i]->time(what, turn_s_); });
  }

  // The number of the winner.
  std::size_t decide() {
    const double left_s = options_.budget_s * (contest_share - spent());
    turn_s_ =
        std::clamp(left_s / contest_rounds / 3 / double(blocks_.size() + 1), shortest_turn_s, longest_turn_s);
    std::vector<std::vector<double>> seconds(blocks_.size());
    int rounds = 0;
    const Verdict verdict = hold_contest(
        blocks_.size(),
        [&](std::size_t i) {
          double sum = 0;
          for (const Block::Part what : {Block::in, Block::multiply, Block::out})
            sum += part(i, what, "layout");
          seconds[i].push_back(sum);
          return sum;
        },
        [&] { return rounds++ == 0 || spent() < contest_share; },
        contest_rules(options_.incumbent.has_value(), options_.seed));
    const std::size_t winner = verdict.winner;
    result_.config = configs_[winner];
    result_.seconds = estimate(seconds[winner]);
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      if (!(configs_[i] == result_.default_config)) continue;
      result_.default_seconds = estimate(seconds[i]);
      if (verdict.rounds > 0) result_.regret = verdict.ratios[i].centre / verdict.ratios[winner].centre - 1;
    }
    for (const std::size_t i : verdict.ties) result_.ties.push_back(configs_[i]);
    result_.tie = winner == 0 && !verdict.ties.empty();
    result_.rounds = verdict.rounds;
    return winner;
  }

  // The parts of the winner and multiplying in place, in turn.
  void measure_costs(std::size_t winner) {
    std::array<std::vector<double>, 4> samples;
    const double left_s = options_.budget_s * (1 - spent());
    turn_s_ = std::clamp(left_s / wanted_samples / 4, shortest_turn_s, longest_turn_s);
    for (int i = 0; i < wanted_samples && (i == 0 || spent() < 1); ++i) {
      for (const Block::Part what : {Block::in, Block::multiply, Block::out})
        samples[what].push_back(part(winner, what, "cost"));
      samples[3].push_back(turn("cost direct", nlohmann::json::object(),
                                [&] { return direct_.time(*direct_kernel_, turn_s_).seconds; }));
    }
    const GemmProblem& p = result_.problem;
    const auto centre = [&](std::size_t what) { return estimate(samples[what]).centre; };
    result_.costs = {p.dtype,
                     p.m,
                     p.n,
                     p.k,
                     p.layout,
                     result_.config.block,
                     p.residency,
                     centre(Block::in),
                     centre(Block::out),
                     centre(3),
                     centre(Block::multiply)};
  }

  const LayoutTuneOptions& options_;
  std::string name_;
  LayoutTuneResult result_;
  KernelTimer direct_;
  std::shared_ptr<const GemmSmallCpuKernel> direct_kernel_;
  OperandSet set_;
  std::vector<Operands> batches_;
  std::vector<LayoutConfig> configs_;
  std::vector<std::unique_ptr<Block>> blocks_;
  double begin_s_ = 0, turn_s_ = shortest_turn_s;
};

}  // namespace

void check_convertible(const GemmProblem& problem, Isa isa) {
  if (problem.location == Location::device)
    throw Error(ErrorCode::unsupported, "location",
                fmt::format("location = device in {}: 'tilewright bench layout --location device' measures "
                            "what converting there costs",
                            to_string(problem)));
  ConfigRules rules;
  rules.isa = isa;
  check_tunable(problem, rules);
  if (problem.layout != Layout::strided && problem.layout != Layout::pointer)
    throw Error(ErrorCode::unsupported, "layout",
                fmt::format("{}: only strided and pointer batches can be interleaved", to_string(problem)));
}

void prepare_conversion(const GemmProblem& problem, Arena& arena, Arena& interleaved) {
  const GemmProblem timed = convertible_problem(problem);
  const OperandSet from(arena, timed, rounds_of(timed));
  const OperandSet to(interleaved, interleaved_problem(timed, layout_default(timed.dtype).block),
                      rounds_of(timed));
}

LayoutTuneResult tune_layout(const GemmProblem& problem, const LayoutTuneOptions& options, Arena& arena,
                             Arena& interleaved) {
  const double begin_s = wall_seconds();
  check_convertible(problem, options.isa);
  prepare_conversion(problem, arena, interleaved);
  return LayoutTuner(convertible_problem(problem), options, arena, interleaved).run(begin_s);
}

nlohmann::json wisdom_record(const LayoutTuneResult& result) {
  nlohmann::json record;
  record["family"] = "layout";
  record["problem"] = to_string(result.problem);
  record["config"] = to_json(result.config);
  record["costs"] = to_json(result.costs);
  const auto threshold = conversion_reuse_threshold(result.costs);
  record["reuse_threshold"] = threshold ? nlohmann::json(*threshold) : nlohmann::json();
  record["device"] = cpu_info().device;
  record["objective"] = "time";
  add_times(record, result.seconds, result.default_seconds);
  record["regret"] = result.regret;
  record["tie"] = result.tie;
  record["candidates"] = result.candidates;
  record["verdict"] = "passed";
  record["time"] = time_now();
  return record;
}

}  // namespace tilewright
